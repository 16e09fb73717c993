import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import Testing

@testable import CofferAgent
@testable import CofferKeys

@Suite struct KeyringTests {
  private let bench: KeyBench

  init() throws { bench = try KeyBench() }

  private func isSigned(_ data: [UInt8], _ blob: [UInt8]) throws -> Bool {
    try bench.sign(data, blob).isSignature(by: blob, of: data)
  }

  // Keys of the vault.

  @Test func `a new key is listed, signs, and has a row for each use`() throws {
    let line = try bench.put(.newKey(KeyBench.name("github"), ItemMetadata()))
    #expect(line.hasPrefix("ssh-ed25519 ") && line.hasSuffix(" github"))
    let blob = try SSHPublicKey(line: line).blob
    #expect(try bench.list().map(\.blob) == [blob])
    #expect(try isSigned(fileData(), blob))
    let row = try #require(try bench.rows().last)
    #expect((row.kind, row.name, row.detail, row.process) == (.sign, "github", "git", UInt32(getpid())))
    #expect(row.item != nil && row.approval.isEmpty)
  }

  @Test func `a login's row names host and user, a refusal's the reason`() throws {
    let near = try TestHost("near")
    let blob = try bench.newKey("key", KeyBench.metadata(["git@near"], hosts: [near.line]))
    _ = try bench.sign(near.login(blob, session: 1), blob, [near.bind(1)])
    let row = try #require(try bench.rows().last)
    #expect((row.kind, row.detail, row.host) == (.login, "git", "near"))
    #expect(row.hostKey == near.key.publicKey.fingerprint)
    #expect(kind { _ = try bench.sign(near.login(blob, session: 1, user: "x"), blob, [near.bind(1)]) } == .refused)
    let refused = try #require(try bench.rows().last)
    #expect((refused.kind, refused.detail) == (.refused, "x@near is not in its rules"))
  }

  @Test func `keys that others store, change and delete are seen with their commit`() throws {
    let near = try TestHost("near")
    let blob = try bench.newKey("key")
    #expect(try isSigned(fileData(), blob))
    let beside = try LockedVault.open(bench.vault.settings.vault, options: .withoutPins).unlock(with: TestAgent.credentials())
    let item = try #require(try beside.item(KeyBench.name("key")))
    var metadata = item.metadata
    metadata.attributes["coffer.use.for"] = "near"
    metadata.attributes["coffer.use.host.1"] = near.line
    try beside.apply([.describe(item.name, as: metadata)])
    #expect(kind { _ = try isSigned(fileData(), blob) } == .refused)
    try beside.remove(item.name)
    #expect(try bench.list().isEmpty)
    #expect(kind { _ = try isSigned(fileData(), blob) } == .notFound)
  }

  @Test func `without other a key signs no data that is neither a login nor a file`() throws {
    let (plain, other) = (try bench.newKey("plain"), try bench.newKey("other", KeyBench.metadata(["other"])))
    #expect(kind { _ = try bench.sign([1, 2, 3], plain) } == .refused)
    #expect(try isSigned([1, 2, 3], other))
    #expect(kind { _ = try bench.sign(fileData(), other) } == .refused)
  }

  @Test func `ca admits certificates by the key itself alone`() throws {
    let authority = try TestHost("ca")
    let addition = KeyAddition.key(
      try Self.fields(authority), try KeyBench.name("ca"), KeyBench.metadata(["ca"]))
    let blob = try SSHPublicKey(line: bench.put(addition)).blob
    let body = try TestHost.certificateBody(for: TestHost("user").key.publicKey, by: authority, kind: 1, ["me"])
    #expect(try isSigned(body, blob))
    let others = try TestHost.certificateBody(for: authority.key.publicKey, by: TestHost("x"), kind: 1, ["me"])
    for data in [others, Array(body.dropLast()), body + [0]] { #expect(kind { _ = try bench.sign(data, blob) } == .refused) }
  }

  private static func fields(_ host: TestHost) throws -> SecretForm {
    guard case .loaded(let fields, _) = try host.key.added() else { throw CancellationError() }
    return fields
  }

  @Test(arguments: ["@near", "a b", "near>", "*.near", "near,far", "sign:", "near>far>x", "|1|a=|b="])
  func `a malformed rule is refused with its line, and stores nothing`(_ rule: String) throws {
    let metadata = KeyBench.metadata([rule], hosts: [try TestHost("near").line, try TestHost("far").line])
    let error = try expect(.undecodable(stored: "malformed rule")) { try bench.newKey("key", metadata) }
    #expect(error.what.contains(rule))
    #expect(try bench.list().isEmpty)
  }

  @Test func `a rule's host needs a key, an answer of ask is one of four, and age is for identities`() throws {
    #expect(kind { try bench.newKey("key", KeyBench.metadata(["near"])) } == .incomplete)
    let malformed = StoreError.Kind.undecodable(stored: "malformed rule")
    #expect(kind { try bench.newKey("key", KeyBench.metadata(ask: "Always")) } == malformed)
    #expect(kind { try bench.newKey("key", KeyBench.metadata(["age"])) } == malformed)
    #expect(kind { try bench.newKey("key", KeyBench.metadata(hosts: ["*.near ssh-ed25519 AAAA"])) } == malformed)
    #expect(kind { _ = try bench.put(.newIdentity(KeyBench.name("age"), KeyBench.metadata(["sign:git"]))) } == malformed)
    try bench.newKey("key")
    #expect(kind { try bench.newKey("key") } == .alreadyExists)
  }

  @Test func `a key whose stored rules cannot be read is neither listed nor used`() throws {
    let key = try TestHost("key").key
    let beside = try LockedVault.open(bench.vault.settings.vault, options: .withoutPins).unlock(with: TestAgent.credentials())
    var metadata = KeyBench.metadata(["near"])
    metadata.attributes["coffer.use"] = "only"
    metadata.attributes["coffer.use.public"] = key.publicKey.line(comment: "")
    try beside.set(SecretForm(key.file(), metadata: metadata), for: KeyBench.name("key"))
    #expect(try bench.list().isEmpty)
    #expect(kind { _ = try bench.sign(fileData(), key.publicKey.blob) } == .incomplete)
  }

  @Test func `a public half of another key signs nothing`() throws {
    let key = try TestHost("key").key.file()
    let other = try TestHost("other").key.publicKey
    let beside = try LockedVault.open(bench.vault.settings.vault, options: .withoutPins).unlock(with: TestAgent.credentials())
    var metadata = ItemMetadata()
    metadata.attributes["coffer.use"] = "only"
    metadata.attributes["coffer.use.public"] = other.line(comment: "")
    try beside.set(SecretForm(key, metadata: metadata), for: KeyBench.name("key"))
    #expect(kind { _ = try bench.sign(fileData(), other.blob) } == .damaged)
  }

  @Test func `a vault takes a key once, and a key in two items is not used`() throws {
    let host = try TestHost("host")
    let addition = { (name: String) in
      KeyAddition.key(try Self.fields(host), try KeyBench.name(name), KeyBench.metadata(ask: "always"))
    }
    _ = try bench.put(addition("key"))
    #expect(try expect(.alreadyExists) { _ = try bench.put(addition("copy")) }.key == "key")
    let beside = try LockedVault.open(bench.vault.settings.vault, options: .withoutPins).unlock(with: TestAgent.credentials())
    var metadata = ItemMetadata()
    metadata.attributes["coffer.use"] = "only"
    metadata.attributes["coffer.use.public"] = host.key.publicKey.line(comment: "")
    try beside.set(SecretForm(host.key.file(), metadata: metadata), for: KeyBench.name("copy"))
    #expect(try expect(.refused) { _ = try bench.sign(fileData(), host.blob) }.what.contains("copy, key"))
    try beside.remove(KeyBench.name("key"))
    #expect(try isSigned(fileData(), host.blob))
  }

  @Test func `a list names keys by their items, and not by labels`() throws {
    try bench.newKey("key", ItemMetadata(label: "work\nssh-rsa AAAA"))
    #expect(try bench.names() == ["key"])
  }

  @Test func `a certificate in its field is one more key, until it expires`() throws {
    let blob = try bench.newKey("key")
    let authority = try TestHost("authority")
    let certificate = try TestHost.certificate(for: SSHPublicKey(blob: blob), by: authority, kind: 1, ["git"])
    let line = try SSHCertificate(blob: certificate).line(comment: "key")
    let field = try KeyBench.name("key").field(named: "certificate")
    try bench.vault.use { (unlocked) throws(StoreError) in
      let form = SecretForm(try Array(line.utf8).guarded(), metadata: ItemMetadata(expires: Date(timeIntervalSinceNow: 3600)))
      try unlocked.set(form, for: field)
    }
    #expect(try bench.list().map(\.blob) == [blob, certificate])
    #expect(try bench.sign(fileData(), certificate).isSignature(by: blob, of: fileData()))
    try bench.vault.use { (unlocked) throws(StoreError) in
      _ = try unlocked.apply([.describe(field, as: ItemMetadata(expires: Date(timeIntervalSinceNow: -60)))])
    }
    #expect(try bench.list().map(\.blob) == [blob])
    #expect(kind { _ = try bench.sign(fileData(), certificate) } == .notFound)
  }

  @Test func `a key that ssh-add sends and an identity's text go into the vault, and are withheld`() throws {
    let host = try TestHost("host")
    let line = try bench.put(.key(Self.fields(host), KeyBench.name("key"), ItemMetadata(label: "work")))
    #expect(line == host.key.publicKey.line(comment: "key"))
    #expect(try bench.names() == ["key"])
    let identity = try AgeIdentity.generate()
    let text = SecretForm(try identity.text())
    #expect(try bench.put(.identity(text, KeyBench.name("age"), KeyBench.metadata(["age"]))) == identity.recipient.text)
    for name in ["key", "age"] {
      let read = { try self.bench.vault.use { (unlocked) throws(StoreError) in _ = try unlocked.get(ItemName(service: name)) } }
      #expect(kind { try read() } == .refused)
    }
    let certificate = try TestHost.certificate(for: host.key.publicKey, by: host, kind: 1, ["me"])
    let certified = try wire { writer in
      try writer.put("ssh-ed25519-cert-v01@openssh.com")
      try writer.put(certificate)
    }
    let malformed = SecretForm(try certified.guarded())
    #expect(kind { _ = try bench.put(.key(malformed, KeyBench.name("x"), ItemMetadata())) } != nil)
  }

  // Identities of age.

  @Test func `an identity unwraps its stanzas, answers others with nothing, and is no key of SSH`() throws {
    let recipient = try AgeRecipient(text: bench.put(.newIdentity(KeyBench.name("notes"), ItemMetadata())))
    let blob = Array(recipient.text.utf8)
    #expect(try bench.list().isEmpty)
    let fileKey = [UInt8](0..<16)
    let stanza = try recipient.wrap(fileKey.guarded())
    func unwrapped(_ share: [UInt8], _ body: [UInt8]) throws -> [UInt8]? {
      guard case .done(let form) = try bench.use(KeyUse(blob: blob, work: .unwrap(share: share, body: body))) else { return nil }
      return form.bytes.withUnsafeBytes { Array($0) }
    }
    #expect(try unwrapped(stanza.share, stanza.body) == fileKey)
    #expect(try bench.rows().map(\.kind) == [.unwrap])
    let other = try AgeIdentity.generate().recipient.wrap(fileKey.guarded())
    #expect(try unwrapped(other.share, other.body) == [])
    #expect(try bench.rows().count == 1)
    #expect(kind { _ = try unwrapped([UInt8](repeating: 0, count: 32), stanza.body) } != nil)
    #expect(kind { _ = try bench.sign(fileData(), blob) } == .refused)
    let key = try bench.newKey("key")
    #expect(kind { _ = try bench.use(KeyUse(blob: key, work: .unwrap(share: stanza.share, body: stanza.body))) } == .refused)
  }

  // Keys of ssh-add.

  @Test func `a key of ssh-add signs anything, is replaced by itself, and ends with the lock`() throws {
    let host = try TestHost("loaded")
    let (key, blob) = (host.key, host.blob)
    #expect(try bench.put(key.added()) == key.publicKey.line(comment: ""))
    _ = try bench.put(key.added())
    #expect(try bench.list().map(\.blob) == [blob])
    #expect(try isSigned([1, 2, 3], blob))
    #expect(try bench.rows().isEmpty)
    bench.vault.lock(because: "a test")
    try bench.unlock()
    #expect(try bench.list().isEmpty)
  }

  @Test func `lifetime and confirmation are kept, and unknown constraints refused`() throws {
    let key = try TestHost("loaded").key
    let blob = key.publicKey.blob
    _ = try bench.put(key.added([1, 0, 0, 0, 60, 2]))
    #expect(try bench.sign(fileData(), blob).question != nil)
    bench.time.pass(.seconds(60))
    #expect(try bench.list().isEmpty)
    let unknown = try [255] + wire { try $0.put("sk-provider@openssh.com") }
    for constraints in [unknown, [3, 0, 0, 0, 1], [99]] {
      #expect(kind { _ = try bench.put(key.added(constraints)) } == .unsupported)
    }
    for constraints in [[2, 2], [1, 0, 0], [1, 0, 0, 0, 1, 1, 0, 0, 0, 1]] as [[UInt8]] {
      #expect(kind { _ = try bench.put(key.added(constraints)) } == .undecodable(stored: "malformed bytes"))
    }
    #expect(try bench.list().isEmpty)
  }

  @Test func `ssh-add brings no RSA key of more than 4096 bits, the vault takes one`() throws {
    struct Fixture: Decodable { let own: [String: String] }
    let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Fixtures/Keys/openssh.json")
    let text = try #require(try JSONDecoder().decode(Fixture.self, from: Data(contentsOf: folder)).own["rsa-long"])
    let key = try SSHPrivateKey(file: TestAgent.secret(text))
    let fields = try key.fields.withUnsafeBytes { Array($0) } + wire { try $0.put(key.comment) }
    let request = SecretForm(try fields.guarded())
    let loaded = try expect(.unsupported) { _ = try bench.put(.loaded(request, isConstrained: false)) }
    #expect(loaded.what == "the RSA key has 4104 bits, not 2048 to 4096")
    _ = try bench.put(.key(request, KeyBench.name("long"), ItemMetadata()))
    #expect(try bench.names() == ["long"])
  }

  @Test func `a cut request of ssh-add's adds no key with fewer constraints`() throws {
    let key = try TestHost("loaded").key
    guard case .loaded(let whole, _) = try key.added([1, 0, 0, 0, 60, 2]) else { return }
    let bytes = whole.bytes.withUnsafeBytes { Array($0) }
    for count in 0..<bytes.count - 1 where count != bytes.count - 6 {
      let cut = SecretForm(try Array(bytes.prefix(count)).guarded())
      #expect(kind { _ = try bench.put(.loaded(cut, isConstrained: true)) } != nil, "\(count)")
    }
    #expect(kind { _ = try bench.put(.loaded(whole, isConstrained: false)) } != nil)
    let long = SecretForm(try (bytes + [UInt8](repeating: 2, count: KeyLimits.mostBytes)).guarded())
    #expect(kind { _ = try bench.put(.loaded(long, isConstrained: true)) } == .tooLarge(limit: KeyLimits.mostBytes))
  }

  @Test func `destinations of ssh-add hold as in OpenSSH's agent`() throws {
    let (near, far) = (try TestHost("near"), try TestHost("far"))
    func hop(_ user: String, _ host: TestHost?) throws -> [UInt8] {
      try wire { writer in
        for text in [user, host?.name ?? "", ""] { try writer.put(text) }
        guard let host else { return }
        try writer.put(host.blob)
        try writer.put(raw: [0])
      }
    }
    func rule(_ from: TestHost?, _ user: String, _ to: TestHost) throws -> [UInt8] {
      try wire { writer in
        let parts = [try hop("", from), try hop(user, to)]
        try writer.put(wire { for part in parts + [[]] { try $0.put(part) } })
      }
    }
    let rules = try rule(nil, "git", near) + rule(near, "", far)
    let constraint =
      try [255]
      + wire { writer in
        try writer.put("restrict-destination-v00@openssh.com")
        try writer.put(rules)
      }
    let key = try TestHost("loaded").key
    let blob = key.publicKey.blob
    _ = try bench.put(key.added(constraint))
    #expect(try bench.sign(near.login(blob, session: 1), blob, [near.bind(1)]).question == nil)
    let data = try far.login(blob, session: 2, user: "any")
    let way = try [near.bind(1, forwarding: true), far.bind(2)]
    #expect(try bench.sign(data, blob, way).isSignature(by: blob, of: data))
    #expect(kind { _ = try bench.sign(near.login(blob, session: 1, user: "x"), blob, [near.bind(1)]) } == .refused)
    #expect(kind { _ = try bench.sign(fileData(), blob) } == .refused)
    #expect(kind { _ = try bench.sign([1, 2, 3], blob) } == .refused)
    #expect(kind { _ = try bench.put(key.added(constraint + constraint)) } == .undecodable(stored: "malformed bytes"))
  }

  @Test func `256 keys of a vault are listed at most, and no further one is made`() throws {
    let beside = try LockedVault.open(bench.vault.settings.vault, options: .withoutPins).unlock(with: TestAgent.credentials())
    var changes: [ItemChange] = []
    for number in 0..<257 {
      let key = try TestHost("key").key
      var metadata = ItemMetadata()
      metadata.attributes["coffer.use"] = "only"
      metadata.attributes["coffer.use.public"] = key.publicKey.line(comment: "")
      changes.append(.set(SecretForm(try key.file(), metadata: metadata), for: try KeyBench.name("key-\(number)")))
    }
    // Items that are no keys hide none.
    for number in 0..<256 {
      var metadata = ItemMetadata()
      metadata.attributes["coffer.use"] = "only"
      metadata.attributes["coffer.use.public"] = "ssh-ed25519 AAAA"
      changes.append(.set(try form("x", metadata), for: try KeyBench.name("a-\(number)")))
    }
    try beside.apply(changes)
    #expect(try bench.list().count == 256)
    #expect(kind { try bench.newKey("one-more") } == .unsupported)
  }

  @Test func `64 keys of ssh-add are held at most`() throws {
    for _ in 0..<64 { _ = try bench.put(TestHost("x").key.added()) }
    #expect(kind { _ = try bench.put(TestHost("x").key.added()) } == .unsupported)
    #expect(try bench.list().count == 64)
  }

  @Test func `drop removes keys of ssh-add, and hides the vault's until the next unlock`() throws {
    let (first, second) = (try bench.newKey("first"), try bench.newKey("second"))
    let loaded = try TestHost("loaded").key
    let recipient = try bench.put(.newIdentity(KeyBench.name("age"), ItemMetadata()))
    _ = try bench.put(loaded.added())
    #expect(try bench.drop(first) == 1)
    #expect(try bench.drop(first) == 0)
    #expect(try bench.names() == ["second", ""])
    #expect(kind { _ = try isSigned(fileData(), first) } == .notFound)
    #expect(try bench.drop(nil) == 2)
    #expect(try bench.list().isEmpty)
    try bench.newKey("third")
    #expect(try bench.names() == ["third"])
    let stanza = try AgeRecipient(text: recipient).wrap([UInt8](0..<16).guarded())
    _ = try bench.use(KeyUse(blob: Array(recipient.utf8), work: .unwrap(share: stanza.share, body: stanza.body)))
    try bench.unlock()
    #expect(try bench.names() == ["first", "second", "third"])
    #expect(try isSigned(fileData(), second))
  }

  @Test func `through the agent's socket a key is made, listed, used and asked about`() throws {
    let agent = try TestAgent()
    defer {
      agent.stop()
      TestAgent.remove(agent.folder)
    }
    let client = agent.client()
    let metadata = KeyBench.metadata(ask: "passphrase")
    let line = try #require(try client.ask(Calls.put, .newKey(KeyBench.name("key"), metadata)).first)
    let blob = try SSHPublicKey(line: line).blob
    #expect(try client.ask(Calls.keys, []).map(\.blob) == [blob])
    var use = KeyUse(blob: blob, work: .sign(try fileData(), flags: 0), asker: UInt32(getpid()))
    let asked = try #require(try client.ask(Calls.use, use).first?.question)
    #expect(kind { try client.allow(.yes(asked.ticket, .once, passphrase: form("wrong"))) } == .wrongSecret)
    #expect(kind { try client.allow(.yes(asked.ticket, .once, passphrase: nil)) } == .refused)
    try client.allow(.yes(asked.ticket, .once, passphrase: form("correct horse")))
    use.ticket = asked.ticket
    #expect(try client.ask(Calls.use, use).first?.isSignature(by: blob, of: fileData()) == true)
    #expect(try client.ask(Calls.drop, nil) == [1])
  }
}
