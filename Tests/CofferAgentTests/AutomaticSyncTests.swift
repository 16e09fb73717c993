import CofferPlatform
import CofferSync
import CofferTestSupport
import CofferVault
import Foundation
import SystemPackage
import Testing

@testable import CofferAgent

/// The times of automatic syncs, and their errors. A clock that the test sets tells the time.
@Suite final class AutomaticSyncTests {
  private static let ada = try? ItemName(service: "web", account: "ada")
  private let folder: TestFolder
  private let hand = HandClock()
  private let syncs: VaultSyncs
  private let remote: String
  private let pins: FilePath
  private let vault: UnlockedVault

  init() throws {
    folder = try TestFolder("automatic-sync")
    pins = folder.path.appending("pins")
    remote = folder.path.appending("remote").string
    syncs = VaultSyncs(pins: pins, caches: folder.path.appending("cache"), clock: hand.clock)
    try FileManager.default.createDirectory(atPath: remote, withIntermediateDirectories: false)
    vault = try UnlockedVault.create(
      at: .file(folder.path.appending("v")), with: TestAgent.credentials(), cost: .testing, options: VaultOptions(pins: pins))
    try sync(vault)
    try mark(true)
  }

  private func mark(_ isAutomatic: Bool) throws {
    try VaultSync(remote, pins: pins, caches: folder.path).setAutomatic(isAutomatic, for: vault.id)
  }

  /// Another machine's copy.
  private func copy() throws -> UnlockedVault {
    let (file, options) = (folder.path.appending("copy"), VaultOptions(pins: folder.path.appending("other")))
    _ = try LockedVault.open(.file(folder.path.appending("v")), options: VaultOptions(pins: pins)).backup(to: file)
    return try LockedVault.open(.file(file), options: options).unlock(with: TestAgent.credentials())
  }

  /// By hand.
  private func sync(_ vault: borrowing UnlockedVault, at pins: FilePath? = nil, accepts: Bool = false) throws {
    var options = SyncOptions(machine: "desk")
    options.accepts = accepts
    _ = try VaultSync(remote, pins: pins ?? self.pins, caches: (pins ?? self.pins).appending("cache")).run(vault, options)
  }

  private func set(_ value: String, _ vault: borrowing UnlockedVault) throws {
    _ = try vault.set(form(value), for: #require(Self.ada))
  }

  /// Whether a sync begins `time` later. It has ended on return.
  private func begins(after seconds: Int) -> Bool {
    hand.pass(.seconds(seconds))
    let begins = syncs.look(in: vault)
    eventually { !syncs.isRunning }
    return begins
  }

  private func heads() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: remote + "/h") }

  @Test func `it follows an unlock, thirty quiet seconds, five minutes of changes, and a quarter of an hour`() throws {
    let first = try heads().count
    #expect(begins(after: 1))
    #expect(!begins(after: 100))
    #expect(try heads().count == first, "nothing had changed")
    try set("1", vault)
    #expect(!begins(after: 1) && !begins(after: 29))
    #expect(begins(after: 1))
    #expect(try heads().count == first + 1)
    #expect(!begins(after: 60), "its own put is no change of the vault")
    for change in 0..<15 {
      try set("\(change)", vault)
      #expect(!begins(after: 20), "\(change)")
    }
    try set("last", vault)
    #expect(begins(after: 20))
    #expect(try heads().count == first + 2)
    #expect(!begins(after: 899))
    #expect(begins(after: 1))
    syncs.begin()
    #expect(begins(after: 1), "another unlock")
  }

  @Test func `a remote that is not marked is left alone`() throws {
    try mark(false)
    try set("1", vault)
    #expect(!begins(after: 1) && !begins(after: 1_000))
    try mark(true)
    #expect(begins(after: 1))
  }

  @Test func `a remote that cannot be reached is asked less and less, and told of after an hour, once`() throws {
    try FileManager.default.moveItem(atPath: remote, toPath: remote + "-away")
    #expect(begins(after: 1))
    for pause in [60, 120, 240, 480, 900, 900, 900] {
      #expect(syncs.takeNews().isEmpty && !begins(after: pause - 1))
      try set("\(pause)", vault)
      #expect(begins(after: 1), "\(pause)")
    }
    let news = syncs.takeNews()
    #expect(news.map(\.remote) == [remote] && news.first?.error?.kind == .unreachable && news.first?.report == nil)
    try FileManager.default.moveItem(atPath: remote + "-away", toPath: remote)
    #expect(begins(after: 900))
    try set("again", vault)
    #expect(!begins(after: 1) && begins(after: 30), "after a success a change counts")
    #expect(syncs.takeNews().isEmpty)
  }

  @Test func `what needs a person stops it until one syncs by hand, and is told once`() throws {
    let before = try heads()
    try set("1", vault)
    try sync(vault)
    for head in try heads() where !before.contains(head) { try FileManager.default.removeItem(atPath: "\(remote)/h/\(head)") }
    #expect(begins(after: 1))
    #expect(syncs.takeNews().map(\.error?.kind) == [.rolledBack])
    try set("2", vault)
    #expect(!begins(after: 1) && !begins(after: 10_000))
    syncs.begin()
    #expect(!begins(after: 1), "an unlock decides nothing")
    #expect(syncs.takeNews().isEmpty)
    try sync(vault, accepts: true)
    #expect(begins(after: 1) && syncs.takeNews().isEmpty)
  }

  @Test func `an unreadable memory of a remote stops it, and is told once`() throws {
    let file = try #require(
      try FileManager.default.contentsOfDirectory(atPath: pins.string).first {
        $0.hasPrefix("sy-") && !$0.hasSuffix(".lock")
      })
    let path = pins.appending(file).string, memory = try Data(contentsOf: URL(filePath: path))
    try memory.dropLast().write(to: URL(filePath: path))
    #expect(!begins(after: 1) && !begins(after: 1_000))
    #expect(syncs.takeNews().map(\.error?.kind) == [.damaged])
    try memory.write(to: URL(filePath: path))
    #expect(begins(after: 1) && syncs.takeNews().isEmpty)
  }

  @Test func `conflicts are told once with their names, as they are on the wire`() throws {
    let other = try copy()
    try set("ours", vault)
    try set("theirs", other)
    try sync(other, at: folder.path.appending("other"))
    #expect(begins(after: 1))
    let news = syncs.takeNews()
    let found = try #require(news.first?.report?.taken.first?.changes.conflicts.first)
    #expect(news.count == 1 && found.name == Self.ada && found.kept != nil)
    #expect(try [SyncOutcome](json: news.json) == news)
    #expect(syncs.takeNews().isEmpty)
  }
}
