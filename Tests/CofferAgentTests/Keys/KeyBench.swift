import CofferMemory
import CofferPlatform
import CofferStorage
import CofferVault
import Foundation
import SystemPackage
import Testing

@testable import CofferAgent
@testable import CofferKeys

/// A vault that an agent holds, and its keyring.
final class KeyBench {
  let folder: FilePath
  let vault: AgentVault
  let time = HandClock()
  var client = ProcessFacts(of: getpid())

  init() throws {
    folder = try TestAgent.newFolder()
    let place = VaultPlace.file(folder.appending("vault.sqlite"))
    _ = try UnlockedVault.create(at: place, with: TestAgent.credentials(), cost: .testing, options: .withoutPins)
    let settings = AgentSettings(
      folder: folder.appending("run"), vault: place, options: .withoutPins, idle: .seconds(36_000), lifetime: .seconds(360_000))
    vault = AgentVault(settings, clock: time.clock)
    try unlock()
  }

  deinit { TestAgent.remove(folder) }

  func unlock() throws {
    try vault.unlock(with: TestAgent.credentials(), Greeting(path: ""), UnlockTimes(), vault.asked)
  }

  static func name(_ service: String) throws -> ItemName { try ItemName(service: service) }

  /// The rules of a key, with the keys of the hosts that they name.
  static func metadata(_ rules: [String]? = nil, ask: String? = nil, hosts: [String] = []) -> ItemMetadata {
    var metadata = ItemMetadata()
    metadata.attributes["coffer.use.for"] = rules?.joined(separator: "\n")
    metadata.attributes["coffer.use.ask"] = ask
    for (number, host) in hosts.enumerated() { metadata.attributes["coffer.use.host.\(number + 1)"] = host }
    return metadata
  }

  /// A new key in the vault: its blob.
  @discardableResult
  func newKey(_ service: String, _ metadata: ItemMetadata = ItemMetadata()) throws -> [UInt8] {
    try SSHPublicKey(line: put(.newKey(Self.name(service), metadata))).blob
  }

  func put(_ addition: KeyAddition) throws -> String {
    try vault.use { (unlocked) throws(StoreError) in try vault.keyring.put(addition, in: unlocked) }
  }

  func list(_ bindings: [SessionBinding] = []) throws -> [KeyListing] {
    try vault.use { (unlocked) throws(StoreError) in try vault.keyring.list(for: bindings, in: unlocked) }
  }

  func names(_ bindings: [SessionBinding] = []) throws -> [String] { try list(bindings).map(\.comment) }

  func use(_ use: KeyUse) throws -> KeyOutcome {
    try vault.use { (unlocked) throws(StoreError) in try vault.keyring.use(use, by: client, in: unlocked) }
  }

  /// - Parameter asker: a process; this one by default.
  func sign(
    _ data: [UInt8], _ blob: [UInt8], _ bindings: [SessionBinding] = [], asker: Int32 = getpid(), ticket: UInt64? = nil
  ) throws -> KeyOutcome {
    try use(
      KeyUse(blob: blob, work: .sign(data, flags: 0), bindings: bindings, asker: UInt32(asker), ticket: ticket))
  }

  func allow(_ approval: KeyApproval, isProven: Bool = false) throws {
    try vault.use { (unlocked) throws(StoreError) in
      try vault.keyring.allow(approval, isProven: isProven, in: unlocked)
    }
  }

  func drop(_ blob: [UInt8]?) throws -> Int {
    try vault.use { (unlocked) throws(StoreError) in try vault.keyring.drop(blob, in: unlocked) }
  }

  private func entries() throws -> [UseEntry] {
    try vault.use { (unlocked) throws(StoreError) in try vault.keyring.uses(most: nil, in: unlocked) }
  }
  /// Without the log's own first row.
  func rows() throws -> [UseRow] {
    try entries().compactMap { if case .row(let row) = $0, row.kind != .opened { row } else { nil } }
  }
  func questions() throws -> [KeyQuestion] {
    try entries().compactMap { if case .question(let asked) = $0 { asked } else { nil } }
  }
}

/// A server with its host key.
struct TestHost {
  let name: String
  let key: PrivateKey
  /// Of its authority, if it has a certificate.
  var certificate: [UInt8]?

  /// Lets values share a key, which moves.
  final class PrivateKey: Sendable {
    let key: SSHPrivateKey
    init() throws { key = try SSHPrivateKey.generate(comment: "") }

    var publicKey: SSHPublicKey { key.publicKey }
    func file() throws(StoreError) -> SecretBytes { try key.file() }
    func sign(_ data: [UInt8]) throws(StoreError) -> [UInt8] {
      try data.withBytes { (data) throws(StoreError) in try key.sign(data, flags: 0) }
    }

    /// The fields of a request of ssh-add's, with constraints.
    func added(_ constraints: [UInt8]? = nil) throws -> KeyAddition {
      let bytes = try key.fields.withUnsafeBytes { Array($0) } + wire { try $0.put(key.comment) } + (constraints ?? [])
      return .loaded(SecretForm(try bytes.guarded()), isConstrained: constraints != nil)
    }
  }

  init(_ name: String) throws { (self.name, key) = (name, try PrivateKey()) }

  /// With a certificate of `authority` for `principals`.
  init(_ name: String, certifiedBy authority: TestHost, for principals: [String], valid: Range<UInt64> = 0..<UInt64.max) throws {
    try self.init(name)
    certificate = try Self.certificate(for: key.publicKey, by: authority, kind: 2, principals, valid)
  }

  static func certificate(
    for key: SSHPublicKey, by authority: TestHost, kind: UInt32, _ principals: [String], _ valid: Range<UInt64> = 0..<UInt64.max
  ) throws -> [UInt8] {
    let body = try certificateBody(for: key, by: authority, kind: kind, principals, valid)
    return try body + wire { try $0.put(authority.key.sign(body)) }
  }

  /// A certificate without its signature.
  static func certificateBody(
    for key: SSHPublicKey, by authority: TestHost, kind: UInt32, _ principals: [String], _ valid: Range<UInt64> = 0..<UInt64.max
  ) throws -> [UInt8] {
    try wire { writer in
      try writer.put("ssh-ed25519-cert-v01@openssh.com")
      try writer.put([UInt8](repeating: 9, count: 32))
      try writer.put(Array(key.blob.suffix(32)))
      for number in [0, 1, kind] { try writer.put(number) }
      try writer.put("test")
      try writer.put(wire { names in for name in principals { try names.put(name) } })
      for second in [valid.lowerBound, valid.upperBound] {
        try writer.put(UInt32(second >> 32))
        try writer.put(UInt32(truncatingIfNeeded: second))
      }
      for _ in 0..<3 { try writer.put("") }
      try writer.put(authority.key.publicKey.blob)
    }
  }

  var blob: [UInt8] { certificate ?? key.publicKey.blob }
  /// As known_hosts has it.
  var line: String { "\(name) \(key.publicKey.line(comment: ""))" }

  func bind(_ session: UInt8, forwarding: Bool = false) throws -> SessionBinding {
    let session = [UInt8](repeating: session, count: 32)
    return SessionBinding(hostKey: blob, sessionID: session, signature: try key.sign(session), isForwarding: forwarding)
  }

  /// The data that a client signs to log in here.
  func login(_ blob: [UInt8], session: UInt8, user: String = "git", namesHost: Bool = true) throws -> [UInt8] {
    try wire { writer in
      try writer.put([UInt8](repeating: session, count: 32))
      try writer.put(raw: [50])
      let method = namesHost ? "publickey-hostbound-v00@openssh.com" : "publickey"
      for text in [user, "ssh-connection", method] { try writer.put(text) }
      try writer.put(raw: [1])
      try writer.put("ssh-ed25519")
      try writer.put(blob)
      if namesHost { try writer.put(self.blob) }
    }
  }
}

/// The data of a signature of a file.
func fileData(_ namespace: String = "git", content: UInt8 = 3) throws -> [UInt8] {
  try Array("SSHSIG".utf8)
    + wire { writer in
      for text in [namespace, "", "sha512"] { try writer.put(text) }
      try writer.put([UInt8](repeating: content, count: 64))
    }
}

/// What `write` writes.
func wire(_ write: (inout SSHWriter) throws -> Void) throws -> [UInt8] {
  var writer = try SSHWriter()
  try write(&writer)
  return writer.bytes()
}

extension KeyOutcome {
  /// Whether it is a signature of `blob` over `data`.
  func isSignature(by blob: [UInt8], of data: [UInt8]) throws -> Bool {
    guard case .done(let form) = self else { return false }
    let key = try SSHPublicKey(blob: blob)
    return form.bytes.withUnsafeBytes { signature in data.withBytes { key.verify(signature, of: $0) } }
  }

  var question: KeyQuestion? { if case .asks(let question) = self { question } else { nil } }
}
