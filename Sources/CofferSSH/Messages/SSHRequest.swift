internal import CofferAgent
internal import CofferClient
internal import CofferPlatform

/// A request to an agent of SSH. Parts of it are lent with its bytes, and must not outlive the loan.
///
/// Sources: RFC 9987, section 5; OpenSSH's PROTOCOL.agent.
enum SSHRequest {
  case list
  case sign(blob: [UInt8], data: [UInt8], flags: UInt32)
  /// The fields of a private key and its constraints, which only the agent reads.
  case add(UnsafeRawBufferPointer, isConstrained: Bool)
  case remove([UInt8])
  case removeAll
  /// With a passphrase.
  case lock(UnsafeRawBufferPointer)
  case unlock(UnsafeRawBufferPointer)
  /// Nil if it is malformed: nobody knows then through which servers the requests come.
  case bind(SessionBinding?)
  case query
  /// Keys in tokens, and all that RFC 9987 does not name.
  case unknown

  /// The name of OpenSSH's extension that says through which server requests come.
  static let bindingName = "session-bind@openssh.com"

  /// Bytes of a request: as in OpenSSH.
  static let framing = LocalSocket.Framing(isBigEndian: true, least: 1, most: KeyLimits.mostBytes)

  /// Reads a request without the length before it.
  ///
  /// - Throws: `.undecodable` for a known request with malformed fields.
  static func parse(_ raw: UnsafeRawBufferPointer) throws(StoreError) -> SSHRequest {
    var fields = SSHReader(raw)
    let request: SSHRequest
    switch try fields.byte() {
    case 11: request = .list
    case 13: request = .sign(blob: Array(try fields.string()), data: Array(try fields.string()), flags: try fields.uint32())
    case let kind where kind == 17 || kind == 25:
      return .add(fields.bytes(from: fields.offset, to: raw.count), isConstrained: kind == 25)
    case 18: request = .remove(Array(try fields.string()))
    case 19: request = .removeAll
    case 22: request = .lock(try fields.string())
    case 23: request = .unlock(try fields.string())
    case 27:
      switch String(validating: try fields.string(), as: UTF8.self) {
      case bindingName?:
        do throws(StoreError) { return .bind(try binding(&fields)) } catch { return .bind(nil) }
      case "query"?: request = .query
      default: return .unknown
      }
    default: return .unknown
    }
    try fields.end()
    return request
  }

  private static func binding(_ fields: inout SSHReader) throws(StoreError) -> SessionBinding {
    let (hostKey, session, signature) = (try fields.string(), try fields.string(), try fields.string())
    let isForwarding = try fields.byte() != 0
    try fields.end()
    guard session.count <= KeyLimits.longestSession else { throw .malformedKey("a session's id is too long") }
    return SessionBinding(
      hostKey: Array(hostKey), sessionID: Array(session), signature: Array(signature), isForwarding: isForwarding)
  }
}
