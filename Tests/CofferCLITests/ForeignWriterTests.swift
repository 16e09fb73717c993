import Coffer
import CofferMemory
import CofferStorage
import Foundation
import Testing

@testable import CofferVault

/// Items that Coffer does not make and another writer of the format may.
@Suite struct ForeignWriterTests {
  private static let bell = "a\u{7}b\n\u{202E}c"
  private static let spelled = #"a\u{7}b\n\u{202e}c"#

  /// A home whose vault another writer has written to: a name with control characters, and an item without a value.
  private func home() throws -> Home {
    let home = try Home.withVault()
    try home.transcript("vault set plain a", in: "1")
    let key = try Data(contentsOf: URL(fileURLWithPath: home.path + "/key"))
    var credentials = Credentials()
    credentials.keyFile = try key.bytes.withUnsafeBytes { (raw) throws(SecretMemoryError) in try SecretBytes(copying: raw) }
    let vault = try OpenVault.unlock(
      FilePath(home.path + "/data/vault.sqlite"), with: credentials,
      options: VaultOptions(pins: FilePath(home.path + "/state/pins"), lockFolder: FilePath(home.path + "/state")))
    try vault.writing { (change) throws(StoreError) in
      let named = RecordMeta(revision: 0, service: Self.bell, account: "x\u{1b}[31m", created: 1, modified: 1, valueCount: 2)
      try [0x68, 0x69].span.bytes.withUnsafeBytes { (value) throws(StoreError) in try vault.adopt(named, value, &change) }
      let empty = RecordMeta(revision: 0, service: "empty", account: "e", created: 1, modified: 1, valueCount: nil)
      try vault.adopt(empty, nil as UnsafeRawBufferPointer?, &change)
    }
    vault.database.close()
    return home
  }

  private func check(_ home: Home) throws {
    let names = "\(Self.spelled)  x\\u{1b}[31m\nempty            e\nplain            a\n"
    try home.transcript("vault list", out: names)
    try home.transcript("vault get \(Self.spelled)", out: "hi")
    try home.transcript("vault get \(Self.spelled) x\\u{1b}[31m", out: "hi")
    #expect(try home.coffer("vault show \(Self.spelled)").out.hasPrefix("service   \(Self.spelled)\naccount   x\\u{1b}[31m\n"))
    try home.transcript("vault copy \(Self.spelled) --to-service copied --to-account c")
    try home.transcript("vault get copied c", out: "hi")
    try home.transcript("vault rename \(Self.spelled) --to-service \(Self.bell)", err: "control character", exit: 64)
    try home.transcript("vault get \(Self.spelled) other", err: "no such item", exit: 1)
    try home.transcript("vault delete \(Self.spelled)")
    try home.transcript("vault list \(Self.spelled)")
    try home.transcript("vault get empty", err: "'empty/e': the item has no value", exit: 1)
    try home.transcript("vault copy empty --to-service filled", err: "the item has no value", exit: 1)
    #expect(try home.coffer("vault show empty").out.contains("bytes     0"))
  }

  @Test("an item of another writer's name is read and deleted under the name that list prints")
  func names() throws {
    let home = try home()
    #expect(try home.coffer("vault log").out.contains(Self.spelled))
    try check(home)
    try home.transcript("vault verify --quiet", out: try home.coffer("vault verify --quiet").out)
  }

  @Test("through an agent too")
  func namesThroughAgent() throws {
    let home = try home()
    try home.transcript("unlock --quiet")
    defer { _ = try? home.coffer("agent stop") }
    home.locked()
    try check(home)
  }

  @Test("an item without a value is left out of an export with a word about it, and can be renamed, filled and deleted")
  func withoutValue() throws {
    let home = try home()
    try home.transcript("vault delete \(Self.spelled)")
    let json = try home.coffer("vault export --reveal")
    #expect(json.status == 0 && json.err == "coffer: note: 'empty/e' has no value and is left out: another program made it so\n")
    #expect(json.out.contains("\"service\":\"plain\"") && !json.out.contains("empty"))
    try home.transcript("vault export --reveal --format env --service plain", out: "a='1'\n")
    try home.transcript("vault export --reveal --format env -q", out: "a='1'\n")
    try home.transcript("vault export \(home.path)/other --new-key-file \(home.path)/k -q")
    try home.transcript("vault rename empty --to-service moved")
    try home.transcript("vault set moved e", in: "now")
    try home.transcript("vault get moved e", out: "now")
    try home.transcript("vault delete moved e")
    try home.transcript("vault list", out: "plain  a\n")
  }
}
