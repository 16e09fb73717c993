public import CofferPlatform
public import CofferStorage

/// A type with one key, that converts itself to a property-list value and back as leniently as it likes.
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
/// Any native type may adopt it. It is plain: nothing in it may be secret.
public protocol DefaultConvertible: PlainValue {
  /// The type's key.
  static var key: String { get }

  /// The value of `object`. Missing or odd fields may get defaults of their own; nil for an object that is no such value.
  init?(_ object: PlainForm)

  /// The property-list value that stands for this one.
  func serialize() throws -> PlainForm
}

extension DefaultConvertible {
  /// The value that ``init(_:)`` makes.
  public init?(plainForm: PlainForm) { self.init(plainForm) }
  /// What ``serialize()`` gives.
  public func plainForm() throws -> PlainForm { try serialize() }
}

extension DefaultConvertible where Self: Codable {
  /// The value that ``init(_:)`` makes.
  public init?(plainForm: PlainForm) { self.init(plainForm) }
  /// What ``serialize()`` gives.
  public func plainForm() throws -> PlainForm { try serialize() }
}

/// One value of a type that has its own key.
public protocol DefaultStoreType<Default>: Sendable {
  /// The value's type.
  associatedtype Default: DefaultConvertible
  /// The value as a handle, whose other conveniences are all there.
  var handle: AnyPersistedValue<Default?> { get }
  /// The value as one that tells of its changes.
  var subject: PersistedValues.Subject<Default?> { get }
  /// Returns once all values survive a power loss and other programs can read them.
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

  /// Calls `body` with the present value now, and then whenever it is another, while `owner` lives: see
  /// ``PersistedValues/Subject/observe(_:_:)``.
  @discardableResult
  public func observe(
    _ owner: any AnyObject & Sendable, _ body: @escaping @Sendable (Default?) -> Void
  ) throws(StoreError) -> Handler<Void>.Canceller {
    try subject.observe(owner, body)
  }
}
