public import CofferPlatform
public import Synchronization

/// The value that a key last decoded, with its form. An enum, a `Codable` struct or a collection is decoded once for each
/// stored form, not by every read. Classes are excluded: each read returns a new object.
@usableFromInline
final class DecodedValue<Value: PlainValue>: Sendable {
  @usableFromInline struct Known: Sendable {
    @usableFromInline let form: PlainForm, value: Value
    @usableFromInline init(form: PlainForm, value: Value) {
      self.form = form
      self.value = value
    }
  }

  @usableFromInline let last = Mutex<Known?>(nil)

  @usableFromInline init() {}

  /// Whether decoding costs more than looking up a known value.
  @usableFromInline
  static var pays: Bool { !(Value.self is any NativePlainValue.Type) && !(Value.self is AnyObject.Type) }

  /// A thread that finds another value here decodes for itself instead of waiting.
  @inlinable
  func value(of form: PlainForm) throws(StoreError) -> Value {
    let known = last.withLockIfAvailable { known in known.flatMap { $0.form.isIdentical(to: form) ? $0.value : nil } }
    if let known, let known { return known }
    let value = try PlainCoding.decode(Value.self, form)
    _ = last.withLockIfAvailable { $0 = Known(form: form, value: value) }
    return value
  }
}

extension PlainForm {
  /// Whether both are the same object in memory, or the same few bytes. It costs a pointer comparison, and is sometimes false
  /// for equal contents.
  @usableFromInline
  func isIdentical(to other: PlainForm) -> Bool {
    switch (self, other) {
    case (.string(let a), .string(let b)), (.argument(let a), .argument(let b)): Self.haveSameBits(a, b)
    case (.array(let a), .array(let b)): Self.haveSameBits(a, b)
    case (.dictionary(let a), .dictionary(let b)): Self.haveSameBits(a, b)
    case (.integer(let a), .integer(let b)): a == b
    case (.bool(let a), .bool(let b)): a == b
    default: false
    }
  }

  // A collection is a pointer to its storage, a string two words. While both are held, the storage cannot be reused.
  private static func haveSameBits<Value>(_ a: Value, _ b: Value) -> Bool {
    withUnsafeBytes(of: a) { a in
      withUnsafeBytes(of: b) { b in
        stride(from: 0, to: a.count, by: MemoryLayout<UInt>.size).allSatisfy {
          a.loadUnaligned(fromByteOffset: $0, as: UInt.self) == b.loadUnaligned(fromByteOffset: $0, as: UInt.self)
        }
      }
    }
  }
}
