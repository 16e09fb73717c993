import CofferTestSupport
import Coffer
import CofferMemory
import CofferStorage
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferTerminal
@testable import CofferVault
@testable import CofferVaultFormat

@Suite(.tags(.process), .defaultRun)
struct ForeignWriterTests {
  private static let bell = "a\u{7}b\n\u{202E}c"
  private static let spelled = #"a\u{7}b\n\u{202e}c"#

  /// Another writer's vault: a name with control characters, and an item without a value.
  private func home() throws -> Home {
    let home = try Home.withVault()
    try home.transcript("vault set plain a", in: "1")
    let key = try Data(contentsOf: URL(fileURLWithPath: home.path + "/key"))
    var credentials = Credentials()
    credentials.keyFile = try key.bytes.withUnsafeBytes { (raw) throws(SecretMemoryError) in try SecretBytes(copying: raw) }
    let vault = try OpenVault.unlock(
      .file(FilePath(home.path + "/data/vault.sqlite")), with: credentials,
      options: VaultOptions(pins: FilePath(home.path + "/state/pins"), lockFolder: FilePath(home.path + "/state")))
    try vault.write { (_, change) throws(StoreError) in
      try Self.plant(ItemName(sealed: Self.bell, "x\u{1b}[31m"), [UInt8]("hi".utf8), in: vault, &change)
      try Self.plant(ItemName(sealed: "empty", "e"), nil, in: vault, &change)
    }
    vault.view.database.close()
    return home
  }

  /// Stores a record as another writer might.
  private static func plant(
    _ name: ItemName, _ value: [UInt8]?, in vault: OpenVault, _ change: inout CofferVault.Change
  ) throws(StoreError) {
    let index = vault.items.index(of: name)
    let meta = RecordMeta(
      revision: 1, service: name.service, account: name.account, created: 1, modified: 1, valueCount: value?.count)
    let record: SealedRecord
    if let value {
      record = try value.span.bytes.withUnsafeBytes { (value) throws(StoreError) in
        try vault.items.records.seal(meta, value, at: index)
      }
    } else {
      record = try vault.items.records.seal(meta, nil, at: index)
    }
    try vault.items.records.put(record, of: meta, &change)
    change.events.append(LogEntry(.itemSet, by: .current, time: 1, index: index))
  }

  private func check(_ home: Home) throws {
    #expect(try home.listed() == ["\(Self.spelled)/x\\u{1b}[31m", "empty/e", "plain/a"])
    try home.transcript("vault get \(Self.spelled)", out: "hi")
    try home.transcript("vault get \(Self.spelled) x\\u{1b}[31m", out: "hi")
    #expect(try home.coffer("vault show \(Self.spelled)").out.hasPrefix("service   \(Self.spelled)\naccount   x\\u{1b}[31m\n"))
    try home.transcript("vault copy \(Self.spelled) --to-service copied --to-account c")
    try home.transcript("vault get copied c", out: "hi")
    try home.transcript("vault rename \(Self.spelled) --to-service \(Self.bell)", err: "control character", exit: 64)
    try home.transcript("vault get \(Self.spelled) other", err: "no item with this name", exit: 1)
    try home.transcript("vault delete \(Self.spelled)")
    try home.transcript("vault list \(Self.spelled)")
    try home.transcript("vault get empty", err: "'empty/e': the item has no value", exit: 65)
    try home.transcript("vault copy empty --to-service filled", err: "the item has no value", exit: 65)
    #expect(try home.coffer("vault show empty").out.contains("bytes     0"))
  }

  @Test
  func `what is not seen, or turns text around, is spelled out; joiners of words and emoji stay`() {
    let hidden =
      "\u{7}\u{85}\u{200B}\u{200E}\u{200F}\u{061C}\u{202A}\u{202E}\u{2066}\u{2069}\u{2028}\u{2029}\u{FEFF}\u{E0041}\u{AD}"
    let spelled = hidden.unicodeScalars.map { "\\u{\(String($0.value, radix: 16))}" }.joined()
    #expect(Printable.line(hidden) == spelled && Printable.text(hidden) == spelled)
    for text in ["👩‍💻 é e\u{301} ❤️ می‌خواهم", "", "שלום"] { #expect(Printable.line(text) == text) }
    #expect(Printable.line("a\r\nb\n\u{301}") == "a\\u{d}\\nb\\n\u{301}")
  }

  @Test
  func `an item of another writer's name is read and deleted under the name that list prints`() throws {
    let home = try home()
    #expect(try home.coffer("vault log").out.contains(Self.spelled))
    try check(home)
    try home.transcript("vault verify --quiet", out: try home.coffer("vault verify --quiet").out)
  }

  @Test
  func `a name that is none says so in English`() throws {
    let home = try Home.withVault()
    for (words, text) in [
      ("x \u{7}", "the account name contains the control character U+7"), ("\u{7} x", "the service name contains"),
    ] {
      for verb in ["get", "set", "delete", "show"] { try home.transcript("vault \(verb) \(words)", in: "v", err: text, exit: 64) }
    }
    try home.transcript("vault set ''", in: "v", err: "the service name is empty", exit: 64)
  }

  @Test
  func `through an agent too`() throws {
    let home = try home()
    try home.transcript("unlock --quiet")
    defer { _ = try? home.coffer("agent stop") }
    home.locked()
    try check(home)
  }

  @Test
  func `an item without a value is left out of an export with a word about it, and can be filled and deleted`() throws {
    let home = try home()
    try home.transcript("vault delete \(Self.spelled)")
    let json = try home.coffer("export --reveal")
    #expect(json.status == 0 && json.err == "coffer: note: 'empty/e' has no value and is left out; another program wrote it\n")
    #expect(json.out.contains("\"service\":\"plain\"") && !json.out.contains("empty"))
    try home.transcript("export --reveal --format env --service plain", out: "a='1'\n")
    try home.transcript("export --reveal --format env -q", out: "a='1'\n")
    let sealed = "export \(home.path)/other -q --new-key-file \(home.path)/k"
    try home.transcript(sealed, err: "'empty/e': the item has no value", exit: 65)
    #expect(!home.exists("other") && !home.exists("k"))
    try home.transcript(sealed + " --service plain")
    try home.transcript("vault rename empty --to-service moved", err: "'empty/e': the item has no value", exit: 65)
    try home.transcript("vault set empty e", in: "now")
    try home.transcript("vault get empty e", out: "now")
    try home.transcript("vault delete empty e")
    #expect(try home.listed() == ["plain/a"])
  }
}
