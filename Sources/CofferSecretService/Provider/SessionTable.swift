internal import CofferMemory
internal import CofferStorage
internal import CofferVault

/// The open sessions, for the bus's thread.
final class SessionTable {
  private var sessions: [String: Session] = [:]
  private var lastNumber: UInt64 = 0

  /// Programs that open a session for each call, and close none, have some dozens.
  private static let mostSessions = 1024

  func open(_ message: BusMessage) throws(Refusal) -> BusMessage {
    let algorithm = try message.string()
    guard sessions.values.count(where: { $0.client == message.sender }) < Self.mostSessions else {
      throw .limit("the client has \(Self.mostSessions) sessions: close some")
    }
    lastNumber += 1
    let path = ObjectPath.of(session: lastNumber)
    let answer = try BusMessage(answerTo: message)
    switch algorithm {
    case "plain":
      sessions[path] = Session(plainFor: message.sender, path: path)
      try answer.putVariant("s") { () throws(Refusal) in try answer.put("") }
    case KeyExchange.name:
      guard try message.variantContents() == "ay" else {
        throw .invalidArguments("the session's public key is not an array of bytes")
      }
      let outcome = try message.variant("ay") { () throws(Refusal) in
        let made = try message.bytes { (theirs) throws(Refusal) in try KeyExchange.answer(theirs) }
        let key = try Refusal.memory { () throws(SecretMemoryError) in try made.key.duplicate() }
        sessions[path] = Session(for: message.sender, path: path, key: key)
        return made.publicKey
      }
      try answer.putVariant("ay") { () throws(Refusal) in
        try outcome.span.bytes.withUnsafeBytes { (raw) throws(Refusal) in try answer.put(raw) }
      }
    // This name makes libraries try another algorithm.
    default: throw .notSupported("sessions are plain or \(KeyExchange.name)")
    }
    try answer.put(path: path)
    return answer
  }

  func close(_ message: BusMessage) throws(Refusal) {
    _ = try session(message.path, of: message)
    sessions[message.path] = nil
  }

  func closeAll(of client: String) { sessions = sessions.filter { $0.value.client != client } }

  func names(of client: String) -> [String] {
    sessions.values.filter { $0.client == client }.compactMap { $0.path.split(separator: "/").last.map(String.init) }.sorted()
  }

  func session(_ path: String, of message: BusMessage) throws(Refusal) -> Session {
    guard let session = sessions[path], session.client == message.sender else { throw .noSession(path) }
    return session
  }

  /// Reads a secret, which names its session.
  func secret(_ message: BusMessage) throws(Refusal) -> SecretForm {
    try message.structure(Session.contents) { () throws(Refusal) in
      let session = try session(message.objectPath(), of: message)
      let parameters = try message.bytes { (raw) throws(Refusal) in
        guard raw.count <= Self.mostParameters else {
          throw .invalidArguments("the parameters of the secret have \(raw.count) bytes")
        }
        return Array(raw)
      }
      let value = try message.bytes { (raw) throws(Refusal) in
        // Before allocating scarce memory for it; a cipher adds at most a block.
        guard raw.count <= VaultItem.largestValue + SecretCipher.blockCount else { throw Self.tooLarge }
        return try session.open(raw, parameters)
      }
      guard value.count <= VaultItem.largestValue else { throw Self.tooLarge }
      return SecretForm(value, metadata: ItemMetadata(contentType: try message.string()))
    }
  }

  private static var mostParameters: Int { 1024 }
  private static var tooLarge: Refusal { .invalidArguments("a secret has at most \(VaultItem.largestValue) bytes") }
}
