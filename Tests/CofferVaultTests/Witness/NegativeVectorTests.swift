import CofferTestSupport
import CofferMemory
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// Coffer and a reader made from the text alone answer each vault and text with its word.
@Suite struct NegativeVectorTests {
  @Test(.tags(.campaign), .wholeRun)
  func `coffer refuses each of the public negative vectors with its word, and as early as the table says`() throws {
    let table = try NegativeVectors.read()
    let bases = try table.bases()
    let home = try TestFolder("negative")
    let numbers = Campaign.cases(table.vaults.count, short: 200)
    for number in numbers {
      let vault = table.vaults[number]
      let place = home.path.appending("\(number)")
      let opening = try Opening(vault, of: table, base: bases[vault.base] ?? [], in: place)
      let (found, step) = opening.refusal()
      #expect(found == vault.refusal, "\(vault.name): \(found ?? "it is read") when \(step)")
      if found != nil, found == vault.refusal { #expect(step == vault.by, "\(vault.name)") }
      try FileManager.default.removeItem(atPath: place.string)
    }
    print("negative vectors: \(Array(numbers).count) of \(table.vaults.count) vaults")
  }

  @Test func `the page counts the public negative vectors, and each names a heading and a word of the article`() throws {
    let table = try NegativeVectors.read()
    func counted(_ isRefused: Bool) -> String {
      let vaults = table.vaults.count { ($0.refusal != nil) == isRefused }
      let texts = table.texts.count { ($0.refusal != nil) == isRefused }
      return "\(vaults) vaults and \(texts) texts that are \(isRefused ? "refused" : "read")"
    }
    let page = try String(contentsOf: NegativeVectors.folder.appending(path: "README.md"), encoding: .utf8)
    #expect(page.contains("the table: \(counted(true)), and \(counted(false))"))
    let article = try String(
      contentsOf: Vectors.root.appending(path: "Sources/Coffer/Coffer.docc/VaultFormat.md"), encoding: .utf8)
    for section in Set(table.vaults.map(\.section) + table.texts.map(\.section)) {
      #expect(article.contains("## \(section)\n"), "\(section)")
    }
    let words = table.vaults.compactMap(\.refusal) + table.vaults.flatMap { $0.also ?? [] }
    for word in Set(words) { #expect(article.contains("| *\(word)* | "), "\(word)") }
    for vault in table.vaults {
      guard let also = vault.also else { continue }
      #expect(!also.isEmpty && vault.refusal.map { !also.contains($0) } == true, "\(vault.name)")
    }
  }

  @Test func `coffer takes no text that is none of the secrets and names that people hold`() throws {
    for text in try NegativeVectors.read().texts {
      let found = kind { try Self.read(text) }
      #expect((found == nil) == (text.refusal == nil), "\(text.name): \(found.map { "\($0)" } ?? "it is read")")
    }
  }

  @Test(.enabled(if: Witness.isThere, Witness.missing), .tags(.process), .defaultRun)
  func `a reader made from the text alone answers each of the public negative vectors with its word`() throws {
    let answers = try Witness.ask("refusals", [Folder(NegativeVectors.folder)], as: [String: String?].self)
    let found = try #require(answers.first)
    let expected = try NegativeVectors.read().refusals
    for (name, refusal) in expected { #expect(found[name] == refusal, "\(name)") }
    #expect(found.count == expected.count)
  }

  @Test(.enabled(if: Witness.isThere, Witness.missing), .tags(.process), .defaultRun)
  func `the public negative vectors are made again to the byte`() throws {
    guard Campaign.isLong else { try Test.skip("vectors are made again in the long form alone") }
    let folder = try TestFolder("vectors")
    let made = try Witness.askPlainly("negative", Folder(URL(filePath: folder.path.string)))
    #expect(made["vaults"] != nil)
    for name in try FileManager.default.contentsOfDirectory(atPath: NegativeVectors.folder.path) where name != "README.md" {
      let isSame =
        try Data(contentsOf: NegativeVectors.folder.appending(path: name))
        == Data(contentsOf: URL(filePath: folder.path.appending(name).string))
      #expect(isSame, "\(name)")
    }
  }

  struct Folder: Encodable {
    let folder: String

    init(_ folder: URL) { self.folder = folder.path }
  }

  private static func read(_ text: NegativeVectors.Text) throws {
    let content = try secret(text.hex.bytes)
    // Not secret: a text that is not UTF-8 stays invalid here.
    let plain = String(decoding: text.hex.bytes, as: UTF8.self)
    switch text.kind {
    case "passphrase": _ = try SlotInputs(Credentials(passphrase: content))
    case "key file": _ = try KeyFile(content: content)
    case "recovery code": _ = try RecoveryCode.bytes(of: content)
    case "identity": try Identity.check(content)
    case "recipient": _ = try Recipient(plain)
    case "invitation": _ = try Invitation(plain)
    case "COFFER_EXPECT_VAULT":
      var options = VaultOptions.withoutPins
      try options.expect(plain)
    default: Issue.record("\(text.kind) is no kind of text")
    }
  }
}

extension NegativeVectorTests {
  struct Opening {
    private let path: FilePath
    private let options: VaultOptions
    private let key: [String: NegativeVectors.Digits]
    private let readsAll: Bool

    init(_ vault: NegativeVectors.Vault, of table: NegativeVectors, base: [UInt8], in folder: FilePath) throws {
      path = folder.appending("vault.sqlite")
      readsAll = vault.refusal == nil || vault.by == .read
      switch vault.secret {
      case .named(let name): key = table.secrets[name] ?? [:]
      case .given(let secret): key = secret
      }
      try Self.makeFolder(folder)
      try Self.write(NegativeVectors.Edit.apply(vault.edits, to: base, length: vault.length ?? base.count), to: path)
      for (suffix, content) in vault.sides ?? [:] { try Self.write(content.bytes, to: path.appending(suffix: suffix)) }
      var options = VaultOptions(
        pins: vault.pins.map { _ in folder.appending("pins") }, expected: vault.vault.flatMap { VaultID($0) },
        leastGeneration: vault.generation)
      options.invitations = try (vault.invitations ?? []).map { text throws(StoreError) in try Invitation(text) }
      self.options = options
      guard let pins = vault.pins, let place = options.pins else { return }
      try Self.makeFolder(place)
      if let at = pins.at { try Self.write(at.bytes, to: place.appending(Self.placeName(path))) }
      if let id = pins.id {
        let content = NegativeVectors.Edit.apply(id.edits, to: [], length: id.length)
        try Self.write(content, to: place.appending("id-" + Hex.text(table.whole.vault.bytes)))
      }
    }

    /// The word, and the step; nil if the whole vault was read.
    func refusal() -> (word: String?, step: NegativeVectors.Step) {
      var step = NegativeVectors.Step.open
      let found = kind {
        let vault = try LockedVault.open(path, options: options).unlock(with: credentials())
        step = .verify
        _ = try vault.verify()
        guard readsAll else { return }
        step = .read
        _ = try vault.core.read { (vault) throws(StoreError) in try WitnessedVault(vault, decided: []) }
      }
      return (found?.word, step)
    }

    private func credentials() throws -> Credentials {
      var credentials = Credentials()
      if let content = key["passphrase"] { credentials.passphrase = try secret(content.bytes) }
      if let content = key["keyFile"] { credentials.keyFile = try secret(content.bytes) }
      if let content = key["recovery"] { credentials.recoveryCode = try secret(content.bytes) }
      if let content = key["identity"] { credentials.identity = try secret(content.bytes) }
      return credentials
    }

    private static func placeName(_ path: FilePath) -> String {
      "at-" + Hex.text(PlainHash.digest([UInt8](path.string.utf8)).bytes.prefix(16))
    }

    private static func makeFolder(_ folder: FilePath) throws {
      try FileManager.default.createDirectory(
        atPath: folder.string, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    private static func write(_ content: [UInt8], to path: FilePath) throws {
      let isMade = FileManager.default.createFile(
        atPath: path.string, contents: Data(content), attributes: [.posixPermissions: 0o600])
      #expect(isMade, "\(path)")
    }
  }
}
