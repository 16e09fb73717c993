internal import CofferPlatform

extension StorageKey {
  /// The same key, which takes over the value of a former name from either store. The first name with a value wins.
  ///
  /// The value moves in one transaction when a router is opened, or at the key's first use once the vault is unlocked. In a
  /// read-only store it stays, and is read under its former name. Keep a former name declared as long as programs that know
  /// only that name may have run last.
  public func renamed(from formerNames: String...) -> Self {
    var key = self
    key.traits.formerNames += formerNames
    return key
  }

  fileprivate func upgrading<Old>(
    _ decodeOld: @escaping @Sendable (R.Form) throws(StoreError) -> Old,
    _ decodeCurrent: @escaping @Sendable (R.Form) throws(StoreError) -> Value,
    _ convert: @escaping @Sendable (Old) throws(StoreError) -> Value
  ) -> Self {
    var key = StorageKey(
      name: name, site: site, absent: declaration.absent,
      decode: { (form) throws(StoreError) in
        do throws(StoreError) { return try decodeCurrent(form) } catch {
          guard case .undecodable = error.kind, let old = Upgrade.attempt(decodeOld, form) else { throw error }
          return try convert(old)
        }
      },
      encode: declaration.encode)
    key.traits = traits
    let isOutdated = traits.isOutdated
    key.traits.isOutdated = { form in
      guard let form = form as? R.Form else { return false }
      if isOutdated?(form) == true { return true }
      guard Upgrade.attempt(decodeCurrent, form) == nil else { return false }
      return Upgrade.attempt(decodeOld, form) != nil
    }
    return key
  }
}

extension StorageKey where R == Plain {
  /// The same key, which converts a stored value of a former type if it is not of the key's own type.
  ///
  /// A read converts at once; opening a router converts the stored value. Former types are tried in the given order.
  ///
  /// - Parameters:
  ///   - type: the former type.
  ///   - convert: if it throws, reads throw ``/CofferPlatform/StoreError/Kind/undecodable(stored:)`` and the stored value
  ///     stays.
  public func upgraded<Old: PlainValue>(
    from type: Old.Type, using convert: @escaping @Sendable (Old) throws -> Value
  ) -> Self {
    upgrading(
      { (form) throws(StoreError) in try PlainCoding.decode(Old.self, form) }, declaration.decode,
      { (old) throws(StoreError) in try Upgrade.convert(old, convert) })
  }
}

extension StorageKey where R == Vault {
  /// The same key, which converts a stored secret of a former type if it is not of the key's payload type.
  ///
  /// - Parameters:
  ///   - type: the former type.
  ///   - convert: if it throws, reads throw ``/CofferPlatform/StoreError/Kind/undecodable(stored:)`` and the stored value
  ///     stays.
  public func upgraded<Old: Codable & Sendable, Payload: Codable & Sendable>(
    from type: Old.Type, using convert: @escaping @Sendable (Old) throws -> Payload
  ) -> Self where Value == Sealed<Payload>? {
    let decode = declaration.decode
    var key = upgrading(
      { (form) throws(StoreError) in (try SecretCoding.decode(Old.self, form), form.metadata) },
      { (form) throws(StoreError) in
        // Opens the sealed payload early: only its bytes tell the type.
        _ = try SecretCoding.decode(Payload.self, form)
        return try decode(form)
      },
      { (old) throws(StoreError) in
        let (value, metadata) = old
        var form = try SecretCoding.encode(Upgrade.convert(value, convert))
        form.metadata = form.metadata.keeping(metadata)
        return Sealed(form: form)
      })
    key.traits.promotesFormer(Old.self) { (old) throws(StoreError) in try SecretCoding.encode(Upgrade.convert(old, convert)) }
    return key
  }

  /// The same key, which converts a stored value of a former type if it is not of the key's own type.
  ///
  /// - Parameters:
  ///   - type: the former type.
  ///   - convert: if it throws, reads throw ``/CofferPlatform/StoreError/Kind/undecodable(stored:)`` and the stored value
  ///     stays.
  public func upgraded<Old: Codable & Sendable, Wrapped: Codable & Sendable>(
    from type: Old.Type, using convert: @escaping @Sendable (Old) throws -> Wrapped
  ) -> Self where Value == Wrapped? {
    var key = upgrading(
      { (form) throws(StoreError) in try SecretCoding.decode(Old.self, form) }, declaration.decode,
      { (old) throws(StoreError) in try Upgrade.convert(old, convert) })
    key.traits.promotesFormer(Old.self) { (old) throws(StoreError) in try SecretCoding.encode(Upgrade.convert(old, convert)) }
    return key
  }
}

enum Upgrade {
  // A form of another type is no failure here.
  static func attempt<Form, Result>(_ decode: (Form) throws(StoreError) -> Result, _ form: Form) -> Result? {
    do { return try decode(form) } catch { return nil }
  }

  static func convert<Old, New>(_ old: Old, _ convert: (Old) throws -> New) throws(StoreError) -> New {
    do { return try convert(old) } catch {
      // The closure's error may quote the value: name only the types.
      throw StoreError(
        .undecodable(stored: "\(Old.self)"), "the stored \(Old.self) could not be converted to \(withArticle("\(New.self)"))",
        cure: "make the key's upgraded(from:using:) succeed, or set the key again; nothing was changed")
    }
  }
}

extension KeyTraits {
  mutating func promotesFormer<Old: Decodable & Sendable>(
    _: Old.Type, _ convert: @escaping @Sendable (Old) throws(StoreError) -> SecretForm
  ) {
    let current = promotion
    promotion = { (form) throws(StoreError) in
      do throws(StoreError) {
        guard let current else { return try convert(PromotedCoding.decode(Old.self, form)) }
        return try current(form)
      } catch {
        guard case .undecodable = error.kind else { throw error }
        return try convert(PromotedCoding.decode(Old.self, form))
      }
    }
  }
}

/// How a vault key reads a plain value.
enum PromotedCoding {
  static func decode<Value: Decodable>(_: Value.Type, _ form: PlainForm) throws(StoreError) -> Value {
    if let type = Value.self as? any PlainValue.Type, let value = type.init(plainForm: form) as? Value { return value }
    do { return try FormDecoder.decode(Value.self, from: form) } catch {
      throw StoreError(
        .undecodable(stored: form.kindName),
        "the plain copy, \(withArticle(form.kindName)), is not \(withArticle("\(Value.self)"))",
        cure: "declare its previous type with upgraded(from:using:), or set the key, which drops the copy; nothing was changed")
    }
  }

  static func promotion<Value: Codable & Sendable>(_: Value.Type) -> @Sendable (PlainForm) throws(StoreError) -> SecretForm {
    { (form) throws(StoreError) in try SecretCoding.encode(decode(Value.self, form)) }
  }
}

extension ItemMetadata {
  /// The new value's content type with the item's old label, attributes and expiry.
  func keeping(_ old: ItemMetadata) -> ItemMetadata {
    ItemMetadata(label: old.label, contentType: contentType, attributes: old.attributes, expires: old.expires)
  }
}
