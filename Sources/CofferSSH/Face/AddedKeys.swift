internal import CofferClient
package import CofferMemory
internal import CofferPlatform

/// The keys that ssh-add sends on a connection. Source: RFC 9987.
package enum AddedKeys {
  /// Closes `connection` once the program leaves.
  ///
  /// - Parameter body: gets the fields of each request to add an identity.
  package static func take(from connection: Int32, _ body: (consuming SecretBytes) throws -> Void) throws {
    let socket = LocalSocket(connection), addIdentity: UInt8 = 17
    do {
      while true {
        // A person types a passphrase meanwhile.
        let arrival = try socket.receive(
          into: SecretBytes.self, begins: .seconds(86_400), whole: .seconds(10), framing: SSHRequest.framing)
        switch consume arrival {
        case .frame(let frame):
          let isKey = frame.body.withUnsafeBytes { $0[0] } == addIdentity
          if isKey { try body(frame.body.suffix(frame.body.count - 1)) }
          let answer = isKey ? SSHAnswer.success : SSHAnswer.failure
          try answer.span.bytes.withUnsafeBytes { (raw) throws(TransportFailure) in try socket.send(raw, within: .seconds(10)) }
        case .closed: return
        case .silence: continue
        }
      }
    } catch let error as TransportFailure { throw error.error(as: StoreError.self) }
  }
}
