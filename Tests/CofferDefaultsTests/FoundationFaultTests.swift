import CofferTestSupport
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferDefaults

/// Foundation's `UserDefaults` on Linux, compared with the plain store. Each test shows Foundation failing, so that it
/// reports a fix.
@Suite(.tags(.process), .defaultRun)
struct FoundationFaultTests {
  private func foundation(_ fault: String, _ folder: TemporaryFolder, _ rest: String...) throws -> String {
    try Tool("foundation-fault", folder, arguments: [fault] + rest).finish()
  }

  @Test func `1 a set value is there after the process exits, with no other call`() throws {
    let theirs = try TemporaryFolder(), ours = try TemporaryFolder()
    _ = try foundation("lost-at-exit", theirs)
    #expect(!theirs.exists("d.plist"), "Foundation keeps it now")
    try Tool("set", ours, "k", "1").finish()
    #expect(try ours.open().load("k") == .string("1"))
  }

  /// Tries for Foundation's random failures; a quiet machine needs one or two.
  private static let chances = 60

  @Test func `2 four processes with fifty keys each keep all of 200`() throws {
    var kept = 200
    for _ in 0..<Self.chances where kept == 200 {
      let theirs = try TemporaryFolder()
      let foundation = try (0..<4).map {
        try Tool("foundation-fault", theirs, arguments: ["distinct-keys", "p\($0)"], hasInput: true)
      }
      for tool in foundation { #expect(tool.firstLine() == "ready") }
      for tool in foundation { tool.send("\n") }
      for tool in foundation { tool.finish() }
      kept = try PropertyList.decode(theirs.bytes(of: "d.plist")).values.count
    }
    print("Foundation kept \(kept) of 200")
    #expect(kept < 200)
    let ours = try TemporaryFolder()
    let tools = try (0..<4).map { try Tool("write", ours, "p\($0)", "50") }
    for tool in tools { tool.finish() }
    #expect(try ours.open().names().count == 200)
  }

  @Test func `3 no reader of the file ever finds a part of it`() throws {
    let theirs = try TemporaryFolder(), ours = try TemporaryFolder()
    var torn = 0
    for _ in 0..<Self.chances where torn == 0 {
      let foundation = try Tool("foundation-fault", theirs, arguments: ["write-large"])
      torn = tornReads(of: theirs.file("d.plist"), while: foundation, atLeast: 0).torn
      foundation.kill()
      foundation.finish()
    }
    print("Foundation's file was torn in \(torn) reads")
    #expect(torn > 0)
    let coffer = try Tool("write-large", ours)
    let (alsoTorn, reads) = tornReads(of: ours.file("d.plist"), while: coffer, atLeast: 100)
    coffer.kill()
    coffer.finish()
    #expect(alsoTorn == 0 && reads >= 100)
  }

  /// Counts reads of an incomplete list and all reads, until one was incomplete or `tool` has ended.
  private func tornReads(of file: FilePath, while tool: Tool, atLeast count: Int) -> (torn: Int, reads: Int) {
    var torn = 0, reads = 0
    while torn == 0, reads < count || (count == 0 && tool.process.isRunning) {
      guard let data = FileManager.default.contents(atPath: file.string) else { continue }
      reads += 1
      if !data.suffix(20).contains(Data("</plist>".utf8)) { torn += 1 }
    }
    return (torn, reads)
  }

  @Test func `4 a file that cannot be read is an error, and is not overwritten`() throws {
    let theirs = try TemporaryFolder(), ours = try TemporaryFolder()
    for folder in [theirs, ours] { try folder.write("<plist><dict><key>k</key>", to: "d.plist") }
    #expect(try foundation("overwrite-damage", theirs) == "reads nothing\n")
    #expect(try PropertyList.decode(theirs.bytes(of: "d.plist")).values.keys.sorted() == ["new"], "all else is gone, silently")
    #expect(kind { _ = try ours.open() } == .damaged)
    #expect(try ours.bytes(of: "d.plist") == Data("<plist><dict><key>k</key>".utf8))
  }

  @Test func `5 a running process sees another's change`() throws {
    let theirs = try TemporaryFolder(), ours = try TemporaryFolder()
    #expect(try foundation("notification", theirs) == "notified false\n")
    let running = try Tool("foundation-fault", theirs, arguments: ["stale"], hasInput: true)
    #expect(running.firstLine() == "before 0")
    _ = try foundation("set-and-synchronize", theirs)
    running.send("\n")
    #expect(running.finish() == "after 0\n")
    let store = try ours.open()
    #expect(try store.load("k") == nil)
    try Tool("set", ours, "k", "1").finish()
    #expect(try store.load("k") == .string("1"))
  }

  @Test func `6 registered values stay with the instance that registered them`() throws {
    let folder = try TemporaryFolder()
    #expect(try foundation("registered", folder) == "other suite 1\n")
    _ = try folder.open(layers: DefaultsLayers([], nil, ["leak": .integer(1)]))
    #expect(try folder.open().load("leak") == nil)
    #expect(try folder.open(domain: "other").load("leak") == nil)
  }

  @Test func `7 a domain's name cannot lead out of the folder`() throws {
    let folder = try TemporaryFolder()
    let inner = folder.file("inner")
    try FileManager.default.createDirectory(atPath: inner.string, withIntermediateDirectories: true)
    try Tool("foundation-fault", folder, arguments: ["set-and-synchronize"], domain: "../evil", configuration: inner).finish()
    #expect(folder.exists("evil.plist"), "Foundation stays inside now")
    #expect(kind { _ = try DefaultsStore.open(domain: "../evil", in: inner) } == .invalidName)
  }

  @Test func `8 and 9 overrides have the key's type, may be negative, and are listed`() throws {
    let folder = try TemporaryFolder()
    let arguments = ["-count", "3", "-negative", "-5", "--theme", "dark"]
    let told = try Tool("foundation-fault", folder, arguments: ["overrides"] + arguments).finish()
    #expect(told.contains("count String") || told.contains("count NSString") || told.contains("count _NSC"), "\(told)")
    #expect(told.contains("negative nothing"))
    #expect(told.contains("-theme dark"))
    #expect(told.contains("listed nothing"))
    let store = try folder.open(layers: DefaultsLayers(arguments))
    let count = StorageKey("count", default: 0), negative = StorageKey("negative", default: 0.0)
    let router = try StorageRouter(
      plain: store, vault: MemoryStore<Vault>(), keys: OneKey(key: count), OneKey(key: negative))
    #expect(try router.value(for: count) == 3)
    #expect(try router.value(for: negative) == -5)
    #expect(try store.names() == ["count", "negative"])
  }

  private struct OneKey<Value: Sendable>: KeySpace {
    let key: StorageKey<Value, Plain>
  }

  @Test func `10 a boolean reads as an integer, a URL keeps its scheme, infinity is no integer`() throws {
    let folder = try TemporaryFolder()
    let told = try foundation("values", folder)
    #expect(told.contains("flag nil"), "\(told)")
    #expect(!told.contains("url https://example.com/a"), "\(told)")
    #expect(told.contains("infinity \(Int.min)"), "\(told)")
    let store = try folder.open(domain: "ours")
    let flag = StorageKey("flag", default: 0), url = StorageKey("url", of: URL.self)
    let number = StorageKey("infinity", default: 0)
    let router = try StorageRouter(
      plain: store, vault: MemoryStore<Vault>(), keys: OneKey(key: flag), OneKey(key: url), OneKey(key: number))
    try store.save(.bool(true), for: "flag")
    try store.save(.real(.infinity), for: "infinity")
    try router.set(URL(string: "https://example.com/a"), for: url)
    #expect(try router.value(for: flag) == 1)
    #expect(try router.value(for: url)?.absoluteString == "https://example.com/a")
    #expect(kind { _ = try router.value(for: number) } == .undecodable(stored: "real"))
  }

  @Test func `11 what cannot be stored does not compile or throws, and an absent URL removes`() throws {
    let theirs = try TemporaryFolder()
    let trapping = try Tool("foundation-fault", theirs, arguments: ["unsupported"], keepsErrors: true)
    trapping.finish()
    #expect(trapping.wasKilled, "Foundation trapped")
    let endless = try Tool("foundation-fault", theirs, arguments: ["no-url"])
    Thread.sleep(forTimeInterval: 1)  // No event: it has no end.
    // It recurses until its stack is used up, or forever.
    #expect(
      endless.process.isRunning
        || {
          endless.finish(); return endless.wasKilled
        }())
    endless.kill()
    endless.finish()
    let folder = try TemporaryFolder()
    let store = try folder.open()
    let url = StorageKey("url", of: URL.self)
    let router = try StorageRouter(plain: store, vault: MemoryStore<Vault>(), keys: OneKey(key: url))
    try router.set(URL(string: "https://example.com"), for: url)
    try router.set(nil, for: url)
    #expect(try router.value(for: url) == nil)
    #expect(kind { try store.save(.argument("x"), for: "k") } == .unencodable)
  }

  @Test func `12 a store crosses threads`() async throws {
    // `UserDefaults` is not Sendable: the next line would not compile with it.
    let folder = try TemporaryFolder()
    let store: any Sendable & Store<Plain> = try folder.open()
    try await Task.detached { try store.save(.integer(1), for: "k") }.value
    #expect(try store.load("k") == .integer(1))
  }
}
