/// What a keyed hash is for: BLAKE2b's 16-byte personalisation, the text padded with zeros.
///
/// Every use of a key has a label of its own, so no output of one use can be an output of another.
struct Label: Sendable {
  private let words: (UInt64, UInt64)

  init(_ text: StaticString) {
    precondition(text.utf8CodeUnitCount <= 16, "a label has 16 bytes at most")
    var words: (UInt64, UInt64) = (0, 0)
    withUnsafeMutableBytes(of: &words) {
      $0.copyMemory(from: UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }
    self.words = words
  }

  /// The label in `bytes`; nil unless there are 16. For vectors.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count == 16 else { return nil }
    words = (bytes.loadUnaligned(as: UInt64.self), bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
  }

  @inline(__always)
  func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result { withUnsafeBytes(of: words, body) }
}

extension Label {
  static let index = Label("PV1 index")
  static let recordID = Label("PV1 rid")
  static let record = Label("PV1 record")
  static let bucket = Label("PV1 bucket")
  static let mid = Label("PV1 mid")
  static let root = Label("PV1 root")
  static let log = Label("PV1 log")
  static let logHead = Label("PV1 loghead")
  static let sealMix = Label("PV1 sealmix")
  static let passphraseAndKeyFile = Label("PVault1 2skd")
  static let keyFile = Label("PVault1 keyfile")
  static let recoveryCode = Label("PVault1 recovery")
}
