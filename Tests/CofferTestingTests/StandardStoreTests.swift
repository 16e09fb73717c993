import Coffer
import CofferDefaults
import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferTesting
import Foundation
import Synchronization
import Testing

/// Runs `body` in this separate process with a new folder as the user's configuration folder.
private func withStandardStore(_ body: (DefaultsStore.Standard, URL) async throws -> Void) async throws {
  let home = try TestFolder("standard")
  setenv("XDG_CONFIG_HOME", home.path.string, 1)
  let list = URL(filePath: home.path.string).appending(path: DefaultsDomain.standardName + ".plist")
  try await body(DefaultsStore.standard, list)
}

private struct Keys: KeySpace {
  let size = StorageKey("size", default: "absent")
  let token = StorageKey("token", secret: String.self)
}

@Suite(.tags(.process), .defaultRun) struct StandardStoreTests {
  @Test func `the standard store conforms`() async {
    await #expect(processExitsWith: .success) {
      try await withStandardStore { standard, _ in
        try await StoreConformance<Plain>("DefaultsStore.standard", abilities: .plain) {
          for name in try standard.names() { try standard.save(nil, for: name) }
          return .init(standard, reopen: { try DefaultsStore.open(domain: DefaultsDomain.standardName) })
        }.run()
      }
    }
  }

  private func answers(over list: Data?) throws -> [String] {
    let home = try TestFolder("standard")
    if let list { try list.write(to: URL(filePath: home.path.string).appending(path: "TestTool.plist")) }
    let process = Process(), output = Pipe()
    process.executableURL = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "TestTool")
    process.arguments = ["ask-standard", "-theme", "dark"]
    process.environment = ["XDG_CONFIG_HOME": home.path.string, "PATH": "/usr/bin:/bin"]
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    return text.split(separator: "\n").map(String.init)
  }

  @Test func `it answers each question as a store of the same domain and command line does`() throws {
    let lines = try answers(over: nil)
    #expect(lines.count == 3 + 3 * 6)
    for line in lines {
      let parts = line.components(separatedBy: " | ")
      #expect(parts.count == 3 && parts[1] == parts[2])
    }
    #expect(lines.contains { $0.hasPrefix("theme explain | argument command line, domain ") })
  }

  @Test func `where it cannot be opened it still knows that the command line has a value for a key of the vault`() throws {
    #expect(try answers(over: Data("no list".utf8)) == ["damaged", "the command line", "refused"])
  }

  @Test func `closing it writes the list, and the rest of the process goes on with it`() async {
    await #expect(processExitsWith: .success) {
      try await withStandardStore { standard, list in
        let told = Mutex<[ChangeFeed.Event]>([])
        let subscription = try standard.changes.subscribe { event in told.withLock { $0.append(event) } }
        defer { subscription.cancel() }
        let app = try StorageRouter(plain: standard, vault: MemoryStore<Vault>(), keys: Keys())
        try await app.set("large", for: Keys().size)
        try await app.close()
        let stored = try PropertyListSerialization.propertyList(from: Data(contentsOf: list), format: nil) as? [String: Any]
        #expect(stored?["size"] as? String == "large")
        try standard.save(.string("small"), for: "size")
        #expect(try standard.load("size") == .string("small"))
        try await poll("both changes") { told.withLock { $0.count } >= 2 }
        #expect(told.withLock { !$0.contains(.ended) })
      }
    }
  }

  @Test func `who asked for its changes before it could be opened is told them once it can be`() async {
    await #expect(processExitsWith: .success) {
      try await withStandardStore { standard, list in
        try Data("no list".utf8).write(to: list)
        let changes = standard.changes
        let error = #expect(throws: StoreError.self) { _ = try changes.subscribe { _ in } }
        #expect(error?.kind == .damaged)
        try FileManager.default.removeItem(at: list)
        let told = Mutex<[ChangeFeed.Event]>([])
        let subscription = try changes.subscribe { event in told.withLock { $0.append(event) } }
        defer { subscription.cancel() }
        try standard.save(.integer(1), for: "size")
        try await poll("the change") { told.withLock { $0 } == [.changes([Change("size", .set, by: .thisProcess)])] }
      }
    }
  }

  @Test func `a transaction that a dead process left is settled by the vault of its router`() async {
    await #expect(processExitsWith: .success) {
      try await withStandardStore { standard, _ in
        let home = try TestHome()
        let vault = try home.makeVault(service: "app")
        var size = Batch<Plain>()
        size.writes["size"] = .set(.string("new"))
        let error = #expect(throws: StoreError.self) {
          try DefaultsStore.open(domain: DefaultsDomain.standardName).commit(
            size,
            decision: Decision(place: vault.place) { (_) throws(StoreError) in
              throw StoreError(.outcomeUnknown, "nobody answered", cure: "ask")
            })
        }
        guard case .pending? = error?.kind else { throw POSIXError(.EINVAL) }
        let app = try StorageRouter(plain: standard, vault: vault, keys: Keys())
        #expect(try app.value(for: Keys().size) == "absent")
        try app.set("newer", for: Keys().size)
      }
    }
  }
}
