internal import CofferAgent
internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal

/// Decrypts and encrypts files' keys for age, by identities in the vault. Source: C2SP age-plugin.
final class AgePlugin {
  private let context: Context
  private let age: AgeStanzas
  /// By their numbers. One that fails leaves them: it would fail for each file.
  private var identities: [(number: Int, recipient: String)] = []
  private var files: [File] = []
  private var faults: [(words: [String], text: String)] = []

  /// X25519 stanzas of a file, each of which takes a request to the agent. Files rarely have hundreds of recipients.
  private static let most = 1000

  private struct File {
    let number: String
    /// Of all types.
    var stanzas = 0
    var candidates: [KeyWork] = []
    var fault: (stanza: Int, text: String)?
  }

  init(_ context: Context) throws {
    self.context = context
    age = try AgeStanzas()
  }

  /// Reports errors in the protocol, as age shows no other messages.
  ///
  /// - Parameter isIdentity: whether age decrypts.
  func run(isIdentity: Bool) throws {
    do { if isIdentity { try decrypt() } else { try encrypt() } } catch {
      guard let failure = Failure.of(error), failure.status != .pipeClosed else { throw error }
      try age.send(["error", "internal"], Self.text(failure))
    }
    try AgeStanzas.write(["done"], SecretBytes(zeros: 0))
  }

  private func decrypt() throws {
    try read { stanza in if stanza.words.first == "recipient-stanza" { try addStanza(stanza) } }
    try tellFaults()
    guard !identities.isEmpty, !files.isEmpty else { return }
    let agent = try openedAgent()
    for file in files {
      if let fault = file.fault {
        try age.send(["error", "stanza", file.number, "\(fault.stanza)"], fault.text)
      } else if let key = try fileKey(file, agent) {
        try age.send(["file-key", file.number], key.bytes)
      }
    }
  }

  private func encrypt() throws {
    var keys: [SecretForm] = []
    try read { stanza in
      switch (stanza.words.first, stanza.body) {
      case ("wrap-file-key", let key?): keys.append(key)
      case ("wrap-file-key", nil): throw Failure.usage("age sent a malformed file key", try: "age")
      case ("add-recipient", _):
        faults.append((["error", "recipient", "0"], "Coffer's recipients are ordinary ones: age1…"))
      default: break
      }
    }
    guard faults.isEmpty else { return try tellFaults() }
    for (number, key) in keys.enumerated() {
      for identity in identities {
        let (share, body) = try PublicHalf.wrap(key.bytes, for: identity.recipient)
        let stanza = try body.span.bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
        try age.send(["recipient-stanza", "\(number)", "X25519", AgeStanzas.base64(share)], stanza)
      }
    }
  }

  /// The first phase. Unknown commands are left out, as the protocol requires.
  private func read(_ take: (AgeStanza) throws -> Void) throws {
    var count = 0
    while let stanza = try age.next(), stanza.words != ["done"] {
      guard stanza.words.first == "add-identity" else {
        try take(stanza)
        continue
      }
      do { identities.append((count, try AgePluginIdentity.recipient(of: stanza.words.dropFirst().first ?? ""))) } catch {
        faults.append((["error", "identity", "\(count)"], "the identity is not one of Coffer's"))
      }
      count += 1
    }
  }

  private func tellFaults() throws { for fault in faults { try age.send(fault.words, fault.text) } }

  /// Its words: the command, the file's number, the type, arguments.
  private func addStanza(_ stanza: AgeStanza) throws {
    let words = stanza.words
    guard words.count >= 3 else { return }
    if files.last?.number != words[1] { files.append(File(number: words[1])) }
    let last = files.count - 1
    defer { files[last].stanzas += 1 }
    guard words[2] == "X25519" else { return }
    guard files[last].fault == nil else { return }
    let share = words.count == 4 ? try AgeStanzas.decoded([AgeStanzas.form(words[3])])?.array ?? [] : []
    guard PublicHalf.isShare(share), let body = stanza.body?.array, body.count == 32 else {
      files[last].fault = (files[last].stanzas, "the X25519 stanza is malformed")
      return
    }
    guard files[last].candidates.count < Self.most else {
      files[last].fault = (files[last].stanzas, "the file has more than \(Self.most) X25519 recipients")
      return
    }
    files[last].candidates.append(.unwrap(share: share, body: body))
  }

  private func fileKey(_ file: File, _ agent: AgentClient) throws -> SecretForm? {
    for work in file.candidates {
      for identity in identities {
        let use = KeyUse(blob: Array(identity.recipient.utf8), work: work, asker: UInt32(clamping: getppid()))
        do { if let key = try result(of: use, agent) { return key } } catch let error as StoreError {
          identities.removeAll { $0.number == identity.number }
          try age.send(["error", "identity", "\(identity.number)"], Self.text(Failure(error)))
        }
      }
    }
    return nil
  }

  /// Nil if the stanza is for another identity.
  private func result(of use: KeyUse, _ agent: AgentClient) throws -> SecretForm? {
    var use = use
    while true {
      switch try agent.ask(Calls.use, use).first {
      case .done(let key)?: return key.bytes.count > 0 ? key : nil
      case .asks(let question)?:
        if use.ticket == nil { try ask(question, agent) }
        use.ticket = question.ticket
        usleep(100_000)
      case nil: return nil
      }
    }
  }

  /// Asks through age. If nobody answers there, `coffer ssh allow` is the other way, until the agent gives up.
  private func ask(_ question: KeyQuestion, _ agent: AgentClient) throws {
    let answer =
      question.needsPassphrase
      ? try age.send(["request-secret"], Printable.line("Passphrase of the vault, for \(question.use)"))
      : try age.send(["confirm", AgeStanzas.base64(Array("Allow".utf8))], Printable.line("Allow \(question.use)?"))
    guard answer.words.first == "ok" else {
      try age.send(["msg"], "allow it with 'coffer ssh allow' elsewhere, within \(question.left) s")
      return
    }
    let isAllowed = question.needsPassphrase || answer.words.last == "yes"
    let passphrase = question.needsPassphrase ? answer.body : nil
    try agent.allow(isAllowed ? .yes(question.ticket, .once, passphrase: passphrase) : .no(question.ticket))
  }

  /// Waits for a locked vault as long as ssh does.
  private func openedAgent() throws -> AgentClient {
    context.questions = .notAtTerminal
    context.reason = "age wants to decrypt a file."
    do { return try context.keyAgent() } catch {
      guard let failure = Failure.of(error), failure.status == .locked else { throw error }
      try age.send(["msg"], "the vault is locked: 'coffer unlock' elsewhere within 20 s")
      let end = ContinuousClock.now + .seconds(20)
      while ContinuousClock.now < end {
        if let agent = try context.agent() { return agent }
        usleep(100_000)
      }
      throw error
    }
  }

  private static func text(_ failure: Failure) -> String {
    let key = failure.key.map { "'\($0)': " } ?? ""
    return Printable.line(key + failure.what + (failure.cure.map { "; try: \($0)" } ?? ""))
  }
}

/// The text of an identity for age: its recipient, so that neither the vault nor the agent is needed to encrypt.
enum AgePluginIdentity {
  private static let prefix = "AGE-PLUGIN-COFFER-", recipients = "age"

  /// `AGE-PLUGIN-COFFER-1…` of `age1…`.
  static func text(of recipient: String) throws -> String { try text(recipient, recipients, prefix) }

  /// `age1…` of `AGE-PLUGIN-COFFER-1…`.
  static func recipient(of text: String) throws -> String { try self.text(text, prefix, recipients) }

  private static func text(_ text: String, _ from: String, _ to: String) throws -> String {
    guard let point = try SecretBech32.decode(AgeStanzas.form(text).bytes, prefix: from), point.count == 32 else {
      throw Failure.usage("'\(Printable.line(text))' is not \(from)1…", try: "age-plugin-coffer new NAME prints one")
    }
    var letters: [UInt8] = []
    point.withUnsafeBytes { SecretBech32.encode($0, prefix: to) { letters.append($0) } }
    return String(decoding: letters, as: UTF8.self)
  }
}

extension SecretForm {
  /// Of bytes that are no secret.
  fileprivate var array: [UInt8] { bytes.withUnsafeBytes { Array($0) } }
}
