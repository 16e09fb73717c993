import CofferTestSupport
import CofferMemory
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

@Suite struct VaultTests {
  @Test func `a stored value reads back after reopening`() throws {
    let place = try TemporaryVault()
    let name = try ItemName(service: "github.com", account: "octocat")
    let metadata = ItemMetadata(label: "work", contentType: "text/plain", attributes: ["env": "prod"])
    let vault = try place.create()
    try vault.set(form("hush", metadata), for: name)
    _ = try vault.lock()

    let again = try place.unlock()
    let read = try #require(try again.get(name))
    #expect(text(read) == "hush")
    #expect(read.metadata == metadata)
    #expect(try again.get(ItemName(service: "github.com", account: "hubot")) == nil)
  }

  @Test func `values of every size class read back`() throws {
    let place = try TemporaryVault()
    let vault = try place.create()
    for size in [0, 1, 255, 256, 257, 2047, 2048, 2049, 70_000, 1 << 20, RecordLimits.largestValue] {
      let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
      let name = try ItemName(service: "size", account: "\(size)")
      try vault.set(SecretForm(secret(bytes)), for: name)
      let read = try #require(try vault.get(name))
      #expect(read.bytes.withUnsafeBytes { Array($0) } == bytes)
      #expect(try vault.item(name)?.valueBytes == size)
    }
  }

  @Test func `a value beyond the limit is refused and changes nothing`() throws {
    let place = try TemporaryVault()
    let vault = try place.create()
    let name = try ItemName(service: "big")
    try vault.set(form("small"), for: name)
    let tooBig = SecretForm(try SecretBytes(zeros: RecordLimits.largestValue + 1))
    #expect(kind { try vault.set(tooBig, for: name) } == .tooLarge(limit: RecordLimits.largestValue))
    #expect(text(try vault.get(name)) == "small")
  }

  @Test func `revisions count writes and guard compare and swap`() throws {
    let place = try TemporaryVault()
    let vault = try place.create()
    let name = try ItemName(service: "s", account: "a")
    #expect(try vault.set(form("one"), for: name, if: .absent).revision == 1)
    #expect(kind { try vault.set(form("x"), for: name, if: .absent) } == .alreadyExists)
    #expect(try vault.set(form("two"), for: name, if: .revision(1)).revision == 2)
    #expect(kind { try vault.set(form("x"), for: name, if: .revision(1)) } == .conflict)
    #expect(text(try vault.get(name)) == "two")
  }

  @Test func `a label left empty keeps what was there and expiry does not`() throws {
    let place = try TemporaryVault()
    let vault = try place.create()
    let name = try ItemName(service: "s")
    let soon = Date(timeIntervalSinceNow: 3600)
    try vault.set(form("1", ItemMetadata(label: "mine", attributes: ["k": "v"], expires: soon)), for: name)
    try vault.set(form("2"), for: name)
    let item = try #require(try vault.item(name))
    #expect(item.metadata.label == "mine")
    #expect(item.metadata.attributes == ["k": "v"])
    #expect(item.metadata.expires == nil)
  }

  @Test func `an expired value is not handed out but is listed`() throws {
    let place = try TemporaryVault()
    let vault = try place.create()
    let name = try ItemName(service: "s")
    try vault.set(form("1", ItemMetadata(expires: Date(timeIntervalSinceNow: -1))), for: name)
    #expect(kind { _ = try vault.get(name) } == .expired)
    #expect(try vault.list().map(\.name) == [name])
  }

  @Test func `lists by name and by service`() throws {
    let place = try TemporaryVault()
    let vault = try place.create()
    for account in ["b", "a", "c"] { try vault.set(form("v"), for: ItemName(service: "one", account: account)) }
    try vault.set(form("v"), for: ItemName(service: "two"))
    #expect(try vault.list().map(\.name.description) == ["one/a", "one/b", "one/c", "two"])
    #expect(try vault.list(service: "two").map(\.name.description) == ["two"])
    #expect(try vault.list(service: "none").isEmpty)
  }

  @Test func `deleting removes once and tells so`() throws {
    let place = try TemporaryVault()
    let vault = try place.create()
    let name = try ItemName(service: "s")
    try vault.set(form("v"), for: name)
    #expect(try vault.remove(name))
    #expect(try !vault.remove(name))
    #expect(try vault.get(name) == nil)
    #expect(try vault.verify().records == 0)
  }

  @Test func `two open vaults see each other's writes`() throws {
    let place = try TemporaryVault()
    let first = try place.create()
    let second = try place.unlock()
    let name = try ItemName(service: "s")
    for round in 0..<20 {
      let value = try form("\(round)")
      if round % 2 == 0 { try first.set(value, for: name) } else { try second.set(value, for: name) }
      #expect(text(try first.get(name)) == "\(round)")
      #expect(text(try second.get(name)) == "\(round)")
    }
    #expect(try second.verify().records == 1)
  }

  @Test func `threads writing through two connections lose nothing`() async throws {
    let place = try TemporaryVault()
    let stores = [
      try VaultStore(service: "app", vault: place.create()), try VaultStore(service: "app", vault: place.unlock()),
    ]
    try stores[0].save(form("0"), for: "counter")
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in 0..<4 {
        group.addTask {
          for _ in 0..<25 {
            try stores[worker % 2].update("counter") { (old) throws(StoreError) in
              let count = Int(text(old) ?? "") ?? -1
              do { return try form("\(count + 1)") } catch { throw StoreError(.closed, "test", cure: "test") }
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(text(try stores[1].load("counter")) == "100")
  }

  @Test func `a wrong key file is a wrong secret`() throws {
    let place = try TemporaryVault()
    _ = try place.create()
    #expect(
      kind { _ = try LockedVault.open(place.path).unlock(with: Credentials(keyFile: KeyFile.generate())) } == .wrongSecret)
    #expect(kind { _ = try LockedVault.open(place.path).unlock(with: Credentials()) } == .noCredentials)
  }

  @Test func `a passphrase opens its slot and a wrong one is told`() throws {
    let place = try TemporaryVault()
    let vault = try UnlockedVault.create(
      at: place.path, with: Credentials(passphrase: secret("correct horse")), cost: .testing, label: "laptop")
    try vault.set(form("v"), for: ItemName(service: "s"))
    #expect(try vault.status().slots.map(\.label) == ["laptop"])
    _ = try vault.lock()
    let locked = try LockedVault.open(place.path)
    #expect(locked.slots.map(\.kind) == [.passphrase])
    #expect(kind { _ = try locked.unlock(with: Credentials(passphrase: secret("wrong"))) } == .wrongSecret)
    let opened = try locked.unlock(with: Credentials(passphrase: secret("correct horse")))
    #expect(text(try opened.get(ItemName(service: "s"))) == "v")
  }

  @Test func `a passphrase with a key file needs both`() throws {
    let place = try TemporaryVault()
    var both = Credentials(passphrase: try secret("pass"))
    both.keyFile = try secret(TemporaryVault.keyFile)
    _ = try UnlockedVault.create(at: place.path, with: both, cost: .testing).lock()
    let locked = try LockedVault.open(place.path)
    #expect(kind { _ = try locked.unlock(with: Credentials(passphrase: secret("pass"))) } == .wrongSecret)
    #expect(kind { _ = try locked.unlock(with: TemporaryVault.credentials()) } == .wrongSecret)
    var again = Credentials(passphrase: try secret("pass"))
    again.keyFile = try secret(TemporaryVault.keyFile)
    _ = try locked.unlock(with: again)
  }

  @Test func `creating over a vault is refused`() throws {
    let place = try TemporaryVault()
    let vault = try place.create()
    try vault.set(form("v"), for: ItemName(service: "s"))
    #expect(kind { _ = try place.create() } == .alreadyExists)
    #expect(text(try vault.get(ItemName(service: "s"))) == "v")
    #expect(try FileManager.default.contentsOfDirectory(atPath: place.folder.string).allSatisfy { $0.hasPrefix("vault.sqlite") })
  }

  @Test func `the place of no vault is named`() throws {
    let place = try TemporaryVault()
    #expect(kind { _ = try LockedVault.open(place.path) } == .noVault)
  }

  @Test(arguments: ["", "a\nb", "tab\t", "\u{7f}", String(repeating: "x", count: 1025)])
  func `bad service names are refused`(_ name: String) throws {
    #expect(kind { _ = try ItemName(service: name) } == .invalidName)
  }

  @Test func `names are bytes and never normalized`() throws {
    let place = try TemporaryVault()
    let vault = try place.create()
    try vault.set(form("composed"), for: ItemName(service: "caf\u{e9}"))
    try vault.set(form("decomposed"), for: ItemName(service: "cafe\u{301}"))
    #expect(text(try vault.get(ItemName(service: "caf\u{e9}"))) == "composed")
    #expect(text(try vault.get(ItemName(service: "cafe\u{301}"))) == "decomposed")
    #expect(try vault.verify().records == 2)
  }
}
