internal import Coffer
internal import CofferFormats
internal import CofferStorage
internal import CofferPlatform
internal import CofferTerminal

/// Git's message to a credential helper: lines `key=value` up to an empty line or the end.
///
/// Source: git-credential(1), "INPUT/OUTPUT FORMAT". Unknown attributes are ignored; an empty value of a list `key[]` clears
/// it.
struct GitMessage {
  /// Bytes of a message, at most: a token with many claims has some kilobytes.
  static let largest = 1 << 18

  private(set) var texts: [String: String] = [:]
  private(set) var lists: [String: [String]] = [:]
  private(set) var secrets: [String: SecretForm] = [:]

  private static let secretNames: Set = ["password", "credential", "oauth_refresh_token"]

  init(from descriptor: Int32) throws {
    let (what, largest) = ("the credential's description", Self.largest)
    try self.init(
      SecretReader.request(what, of: "git", descriptor, limit: largest, step: largest) { raw in
        raw.first == 0x0A || zip(raw, raw.dropFirst()).contains { $0 == 0x0A && $1 == 0x0A }
      })
  }

  /// - Throws: `.damaged` for a line without `=`, and for a NUL or carriage return in a value, which could end the line
  ///   elsewhere.
  init(_ message: borrowing SecretBytes) throws {
    try message.withUnsafeBytes { raw in
      for line in raw.split(separator: 0x0A, omittingEmptySubsequences: false) {
        guard !line.isEmpty else { return }
        try add(UnsafeRawBufferPointer(rebasing: line))
      }
    }
  }

  private mutating func add(_ line: UnsafeRawBufferPointer) throws {
    guard !line.contains(0), !line.contains(0x0D) else { throw Self.damaged("a value contains a NUL or a carriage return") }
    guard let equals = line.firstIndex(of: UInt8(ascii: "=")), equals > 0 else { throw Self.damaged("a line is not key=value") }
    let value = UnsafeRawBufferPointer(rebasing: line[(equals + 1)...])
    guard let key = PlainBytes.text(UnsafeRawBufferPointer(rebasing: line[..<equals])) else {
      throw Self.damaged("a key is not UTF-8")
    }
    if Self.secretNames.contains(key) {
      secrets[key] = SecretForm(try SecretBytes(copying: value))
      return
    }
    // Unknown values, such as a server's header, may have any encoding; used ones must be text.
    guard let text = PlainBytes.text(value) else {
      guard ["protocol", "host", "path", "username"].contains(key) else { return }
      throw Self.damaged("the \(key) is not UTF-8")
    }
    guard key.hasSuffix("[]") else {
      texts[key] = text
      return
    }
    if text.isEmpty { lists[key] = [] } else { lists[key, default: []].append(text) }
  }

  private static func damaged(_ what: String) -> StoreError {
    StoreError(.damaged, what, place: "standard input", cure: "the protocol is in git-credential(1); nothing was done")
  }
}

extension SecretReader {
  /// Reads until `isWhole`, to the end, or to the limit: a program may leave the pipe open.
  ///
  /// - Parameter step: bytes to read at once, at most.
  static func request(
    _ what: String, of program: String, _ descriptor: Int32, limit: Int, step: Int, isWhole: (UnsafeRawBufferPointer) -> Bool
  ) throws -> SecretBytes {
    var buffer = try SecretBytes(zeros: limit)
    var count = 0
    while count < limit {
      let at = count
      let got = buffer.withUnsafeMutableBytes { readOnce(descriptor, $0.baseAddress.map { $0 + at }, min(step, limit - at)) }
      guard got >= 0 else { throw StoreError(errno: errno, "read \(what)", place: "standard input") }
      count += got
      let isComplete = buffer.withUnsafeBytes { isWhole(UnsafeRawBufferPointer(rebasing: $0[..<(at + got)])) }
      if got == 0 || isComplete { return try buffer.prefix(count) }
    }
    throw StoreError(
      .tooLarge(limit: limit), "\(what) is larger than \(limit) bytes", place: "standard input",
      cure: "\(program) does not send this")
  }
}
