// Each forbidden spelling, with a message that says what to write instead. The tests compile programs with them and expect
// the message.

extension StorageKey where R == Plain {
  /// Forbidden: a secret in source is no secret.
  @available(*, unavailable, message: "a secret has no default in source: declare it with StorageKey(_:secret:)")
  public init<Payload>(_ name: String, default value: Sealed<Payload>, fileID: String = #fileID, line: Int = #line)
  where Value == Sealed<Payload> { fatalError("unavailable") }

  /// Forbidden: the plain store cannot hold a sealed value.
  @available(*, unavailable, message: "a Sealed value belongs in the vault: declare it with StorageKey(_:secret:)")
  public init<Payload>(_ name: String, of type: Sealed<Payload>.Type, fileID: String = #fileID, line: Int = #line)
  where Value == Sealed<Payload>? { fatalError("unavailable") }

  /// Forbidden: the type has not declared that it may be written in the clear.
  @_disfavoredOverload
  @available(
    *, unavailable,
    message:
      "this type may not be written in the clear: add ': PlainValue' to a type of yours if it is a preference, store what it is made of if it is not yours, or declare the key with secret:"
  )
  public init<Wrapped>(_ name: String, of type: Wrapped.Type, fileID: String = #fileID, line: Int = #line)
  where Value == Wrapped? { fatalError("unavailable") }

  /// Forbidden: the type has not declared that it may be written in the clear.
  @_disfavoredOverload
  @available(
    *, unavailable,
    message:
      "this type may not be written in the clear: add ': PlainValue' to a type of yours if it is a preference, store what it is made of if it is not yours, or declare the key with secret:"
  )
  public init(_ name: String, default value: Value, fileID: String = #fileID, line: Int = #line) { fatalError("unavailable") }

  /// Forbidden: a property list holds no nil.
  @available(
    *, unavailable,
    message: "a property list holds no nil: leave the elements out that are nil, or store a value that means nothing"
  )
  public init<Element>(_ name: String, of type: [Element?].Type, fileID: String = #fileID, line: Int = #line)
  where Value == [Element?]? { fatalError("unavailable") }

  /// Forbidden: a property list holds no nil.
  @available(*, unavailable, message: "a property list holds no nil: leave the names out whose values are nil")
  public init<Key, Member>(_ name: String, of type: [Key: Member?].Type, fileID: String = #fileID, line: Int = #line)
  where Value == [Key: Member?]? { fatalError("unavailable") }

  /// Forbidden: a property list holds no nil.
  @available(
    *, unavailable,
    message: "a property list holds no nil: leave the elements out that are nil, or store a value that means nothing"
  )
  public init<Element: ExpressibleByNilLiteral>(_ name: String, default: [Element], fileID: String = #fileID, line: Int = #line)
  where Value == [Element] { fatalError("unavailable") }

  /// Forbidden: a property list holds no nil.
  @available(*, unavailable, message: "a property list holds no nil: leave the names out whose values are nil")
  public init<Key, Member: ExpressibleByNilLiteral>(
    _ name: String, default: [Key: Member], fileID: String = #fileID, line: Int = #line
  ) where Value == [Key: Member] { fatalError("unavailable") }

  /// Forbidden: absent and nil are the same.
  @available(
    *, unavailable,
    message: "name the type without its question mark: a key declared with of: reads as nil while nothing is stored"
  )
  public init<Wrapped>(_ name: String, of type: Wrapped?.Type, fileID: String = #fileID, line: Int = #line)
  where Value == Wrapped?? { fatalError("unavailable") }

  /// Forbidden: the names of a property list are text.
  @_disfavoredOverload
  @available(
    *, unavailable,
    message: "a dictionary in the clear has keys of String, Int or another PlainForm.Key, and values that are PlainValue"
  )
  public init<Key, Member>(_ name: String, of type: [Key: Member].Type, fileID: String = #fileID, line: Int = #line)
  where Value == [Key: Member]? { fatalError("unavailable") }
}

extension StorageKey where R == Vault {
  /// Forbidden: a secret in source is no secret.
  @_disfavoredOverload
  @available(
    *, unavailable,
    message: "a secret has no default in source: declare it with StorageKey(_:secret:) and a type"
  )
  public init<Payload>(_ name: String, secret value: Payload, fileID: String = #fileID, line: Int = #line)
  where Value == Sealed<Payload>? { fatalError("unavailable") }

  /// Forbidden: the payload would be sealed twice.
  @available(*, unavailable, message: "name the payload's type: secret: seals it by itself")
  public init<Payload>(_ name: String, secret type: Sealed<Payload>.Type, fileID: String = #fileID, line: Int = #line)
  where Value == Sealed<Payload>? { fatalError("unavailable") }
}
