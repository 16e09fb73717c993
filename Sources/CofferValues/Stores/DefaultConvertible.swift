public import CofferPlatform
public import CofferStorage

/// A type with one key, and with its own lenient conversion to and from a property-list value.
///
/// ```swift
/// struct CameraConfig: DefaultConvertible {
///   static let key = "CameraConfig"
///   var size = Size.medium, savesToCameraRoll = true
///
///   init?(_ object: PlainForm) {
///     guard case .dictionary(let fields) = object else { return nil }
///     size = fields["size"].flatMap(Size.init(plainForm:)) ?? .medium
///     savesToCameraRoll = fields["savesToCameraRoll"].flatMap(Bool.init(plainForm:)) ?? true
///   }
///
///   func serialize() throws -> PlainForm {
///     .dictionary(["size": try size.plainForm(), "savesToCameraRoll": .bool(savesToCameraRoll)])
///   }
/// }
/// ```
///
/// Any native type may conform. The type is plain: it must hold no secret.
public protocol DefaultConvertible: PlainValue {
  /// The type's key.
  static var key: String { get }

  /// The value of `object`. Missing or odd fields may get defaults; nil for an object that is no such value.
  init?(_ object: PlainForm)

  /// This value as a property-list value.
  func serialize() throws -> PlainForm
}

extension DefaultConvertible {
  /// Calls ``init(_:)``.
  public init?(plainForm: PlainForm) { self.init(plainForm) }
  /// Calls ``serialize()``.
  public func plainForm() throws -> PlainForm { try serialize() }
}

extension DefaultConvertible where Self: Codable {
  /// Calls ``init(_:)``.
  public init?(plainForm: PlainForm) { self.init(plainForm) }
  /// Calls ``serialize()``.
  public func plainForm() throws -> PlainForm { try serialize() }
}

/// One value of a type that has its own key.
public protocol DefaultStoreType<Default>: Sendable {
  /// The value's type.
  associatedtype Default: DefaultConvertible
  /// The value's handle, with all its operators.
  var handle: AnyPersistedValue<Default?> { get }
  /// The value as a subject that reports its changes.
  var subject: PersistedValues.Subject<Default?> { get }
  /// Returns once all values survive a power loss and are visible to other programs.
  func synchronize() throws(StoreError)
}

extension DefaultStoreType {
  /// Stores `value`.
  ///
  /// - Throws: ``/CofferPlatform/StoreError``; the stored value is unchanged then.
  public func set(_ value: Default) throws(StoreError) { try handle.save(value) }

  /// The value; nil if none is stored.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.undecodable` if the stored form is no such value, and the store's errors.
  public func get() throws(StoreError) -> Default? { try handle.load() }

  /// Removes the value.
  public func remove() throws(StoreError) { try handle.save(nil) }

  /// Calls `body` with the present value, and then at each change while `owner` lives: see
  /// ``PersistedValues/Subject/observe(_:_:)``.
  @discardableResult
  public func observe(
    _ owner: any AnyObject & Sendable, _ body: @escaping @Sendable (Default?) -> Void
  ) throws(StoreError) -> Handler<Void>.Canceller {
    try subject.observe(owner, body)
  }
}
