import Coffer
import CofferDefaults
import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import SystemPackage
import Testing

/// A process dies within a transaction, and programs open both stores separately afterwards.
@Suite(.tags(.process), .defaultRun) struct LentDecisionTests {
  struct Keys: KeySpace {
    let theme = StorageKey("theme", default: "absent")
    let token = StorageKey("token", secret: String.self)
  }
  private let keys = Keys()
  private let folder: TestFolder
  private var keyFile: String { folder.path.string + "/key" }
  private var vaultPath: FilePath { folder.path.appending("vault.sqlite") }

  init() throws {
    folder = try TestFolder("lent")
    let key = try KeyFile.generate()
    try key.withUnsafeBytes { try Data($0).write(to: URL(filePath: folder.path.string + "/key")) }
    _ = try UnlockedVault.create(
      at: .file(folder.path.appending("vault.sqlite")), with: Credentials(keyFile: key), options: .withoutPins
    ).lock()
    try transact("old")
  }

  private func transact(_ value: String, dyingAt step: String? = nil) throws {
    let process = Process()
    process.executableURL = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "TestTool")
    process.arguments = ["transact", folder.path.string, keyFile, value] + (step.map { [$0] } ?? [])
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    #expect(process.terminationStatus == (step == nil ? 0 : SIGKILL))
  }

  private func vault() throws -> VaultStore {
    let locked = try LockedVault.open(.file(vaultPath), options: .withoutPins)
    return try VaultStore(service: "app", vault: locked.unlock(with: Credentials(keyFileAt: FilePath(keyFile))))
  }

  @Test(arguments: [("prepared", "old"), ("decided", "new")])
  func `a plain store that was opened by itself settles with the vault of its router`(step: String, value: String) throws {
    try transact("new", dyingAt: step)
    let plain = try DefaultsStore.open(domain: "app", in: folder.path)
    let alone = #expect(throws: StoreError.self) { _ = try plain.load("theme") }
    guard case .pending? = alone?.kind else { return #expect(alone?.kind == .undeclared, "pending") }
    let app = try StorageRouter(plain: plain, vault: vault(), keys: keys)
    #expect(try app.value(for: keys.theme) == value && app.value(for: keys.token)?.reveal() == value)
    try app.set("newer", for: keys.theme)
    #expect(try plain.load("theme") == .string("newer"))
  }

  @Test func `a locked vault lends what it has recorded too, and a reader settles for itself alone`() throws {
    try transact("new", dyingAt: "decided")
    let locked = try VaultStore(service: "app", vault: LockedVault.open(.file(vaultPath), options: .withoutPins))
    let reader = try DefaultsStore.open(domain: "app", in: folder.path, access: .readOnly)
    #expect(try StorageRouter(plain: reader, vault: locked, keys: keys).value(for: keys.theme) == "new")
    let suite = try DefaultsStore.open(domain: "other", in: folder.path, suites: ["app"])
    #expect(try StorageRouter(plain: suite, vault: locked, keys: keys).value(for: keys.theme) == "new")
  }

  @Test func `an outcome that a living process cannot tell is settled at once by the vault of its router`() throws {
    let plain = try DefaultsStore.open(domain: "app", in: folder.path)
    _ = try StorageRouter(plain: plain, vault: vault(), keys: keys)
    var theme = Batch<Plain>()
    theme.writes["theme"] = .set(.string("new"))
    let error = #expect(throws: StoreError.self) {
      try plain.commit(
        theme,
        decision: Decision(place: vaultPath.string) { (_) throws(StoreError) in
          throw StoreError(.outcomeUnknown, "nobody answered", cure: "ask")
        })
    }
    #expect(error?.kind == .busy, "it is given up")
    #expect(try plain.load("theme") == .string("old"))
  }
}
