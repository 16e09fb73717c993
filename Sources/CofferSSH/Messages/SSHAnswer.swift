internal import CofferAgent

/// The answers of an agent of SSH, with their length before them. Source: RFC 9987, section 5.
enum SSHAnswer {
  static let failure = frame([5]), success = frame([6]), extensionFailure = frame([28])
  /// The extensions that this agent knows.
  static let query = frame([29] + string("query".utf8) + string(SSHRequest.bindingName.utf8))

  /// Bytes and keys of a list: OpenSSH's clients take no more.
  private static let mostBytes = KeyLimits.mostBytes, mostKeys = 2048

  /// The first keys, as many as a client takes.
  static func list(_ keys: [KeyListing]) -> [UInt8] {
    var body: [UInt8] = [], count: UInt32 = 0
    for key in keys.prefix(mostKeys) {
      let next = string(key.blob) + string(key.comment.utf8)
      guard body.count + next.count + 5 <= mostBytes else { break }
      body += next
      count += 1
    }
    return frame([12] + number(count) + body)
  }

  /// - Parameter signature: as SSH encodes it, with its algorithm.
  static func signature(_ signature: some Collection<UInt8>) -> [UInt8] { frame([14] + string(signature)) }

  private static func frame(_ body: [UInt8]) -> [UInt8] { string(body) }
  private static func string(_ bytes: some Collection<UInt8>) -> [UInt8] { number(UInt32(clamping: bytes.count)) + bytes }
  private static func number(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
}
