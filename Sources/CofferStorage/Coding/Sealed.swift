public import CofferMemory
public import CofferPlatform

/// The carrier of a secret: encoded bytes in guarded memory. It prints as `Sealed(•••)`.
///
/// It is not `Codable`, so no plain value can hold one. ``reveal()`` returns the payload as an ordinary Swift value, which
/// nobody wipes. ``withBytes(_:)`` lends the bytes.
public struct Sealed<Payload: Sendable>: Sendable {
  let form: SecretForm

  init(form: SecretForm) { self.form = form }

  /// Takes over bytes that are already guarded: no ordinary Swift value ever holds them.
  public init(guarded bytes: consuming SecretBytes) { form = SecretForm(bytes) }

  /// Lends the encoded bytes: the UTF-8 of a `String`, `Data` and `[UInt8]` unchanged, the JSON of any other payload.
  ///
  /// - Throws: the error of `body`, unchanged.
  public func withBytes<Result: ~Copyable, Failure: Error>(
    _ body: (RawSpan) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try form.bytes.withBytes(body)
  }
}

extension Sealed where Payload: Codable {
  /// Seals `payload`. The encoded bytes go to guarded memory; `payload` itself is an ordinary value that nobody wipes.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/unencodable``.
  public init(_ payload: Payload) throws(StoreError) { form = try SecretCoding.encode(payload) }

  /// The payload as an ordinary Swift value.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/undecodable(stored:)``; ``/CofferPlatform/StoreError/Kind/afterFork`` in the
  ///   child of a fork, where the bytes are gone.
  public func reveal() throws(StoreError) -> Payload { try SecretCoding.decode(Payload.self, form) }

  /// Lends the payload to `body`.
  ///
  /// - Throws: the errors of ``reveal()`` and `body`.
  public func reveal<Result>(_ body: (Payload) throws -> Result) throws -> Result { try body(reveal()) }
}

extension Sealed: Equatable {
  /// Whether both hold the same bytes, in a time that does not tell where they differ. Always false in the child of a fork,
  /// where the bytes are gone: zeros would equal zeros.
  public static func == (left: Self, right: Self) -> Bool {
    left.form.bytes.isIntact && right.form.bytes.isIntact && left.form.bytes.isEqual(to: right.form.bytes)
  }
}

extension Sealed: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Always `Sealed(•••)`.
  public var description: String { "Sealed(•••)" }
  /// Always `Sealed(•••)`.
  public var debugDescription: String { description }
  /// A mirror without children.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
