internal import CofferTestSupport
internal import Coffer
internal import CofferDefaults
internal import CofferMemory
internal import CofferObservation
internal import CofferVault
internal import CofferStorage
internal import CofferValues
internal import Foundation
internal import Testing

// TypedDefaults.

private enum Size: String, PlainValue { case small, medium, large }

private struct CameraConfig: DefaultConvertible, Equatable {
  static let key = "CameraConfig"
  var size = Size.medium, savesToCameraRoll = true

  init(size: Size = .medium, savesToCameraRoll: Bool = true) {
    self.size = size
    self.savesToCameraRoll = savesToCameraRoll
  }

  init?(_ object: PlainForm) {
    guard case .dictionary(let fields) = object else { return nil }
    size = fields["size"].flatMap(Size.init(plainForm:)) ?? .medium
    savesToCameraRoll = fields["saveToCameraRoll"].flatMap(Bool.init(plainForm:)) ?? true
  }

  func serialize() throws -> PlainForm {
    .dictionary(["size": try size.plainForm(), "saveToCameraRoll": .bool(savesToCameraRoll)])
  }
}

private final class Counter: DefaultConvertible {
  static let key = "Counter"
  let count: Int
  init(count: Int) { self.count = count }
  init?(_ object: PlainForm) {
    guard let count = Int(plainForm: object) else { return nil }
    self.count = count
  }
  func serialize() throws -> PlainForm { count.plainForm() }
}

private enum Mode: Int, DefaultConvertible {
  case off, on
  static let key = "Mode"
  init?(_ object: PlainForm) { self.init(rawValue: Int(plainForm: object) ?? -1) }
  func serialize() throws -> PlainForm { rawValue.plainForm() }
}

private final class CameraController {
  lazy var config: AnyStore<CameraConfig> = AnyStore(InMemoryStore())
}

@Suite struct RowsE {
  @Test func `E1 a type has one key, and converts itself`() throws {
    let bench = try Bench()
    let store = try PersistentStore<CameraConfig>(in: bench.defaults())
    try store.set(CameraConfig(size: .large))
    #expect(try bench.defaults().names() == ["CameraConfig"])
    #expect(
      try bench.defaults().load("CameraConfig")
        == .dictionary(["size": .string("large"), "saveToCameraRoll": .bool(true)]))
  }

  @Test func `E2 a struct, a class and an enum may adopt it`() throws {
    let bench = try Bench()
    let defaults = try bench.defaults()
    try PersistentStore<Counter>(in: defaults).set(Counter(count: 3))
    try PersistentStore<Mode>(in: defaults).set(.on)
    try PersistentStore<CameraConfig>(in: defaults).set(CameraConfig())
    #expect(try PersistentStore<Counter>(in: defaults).get()?.count == 3)
    #expect(try PersistentStore<Mode>(in: defaults).get() == .on)
    #expect(try defaults.names() == ["CameraConfig", "Counter", "Mode"])
  }

  @Test func `E3 each missing or odd field gets its own default, and only what is no dictionary is none`() throws {
    let bench = try Bench()
    let defaults = try bench.defaults(), store = PersistentStore<CameraConfig>(in: defaults)
    try defaults.save(.dictionary(["size": .string("gigantic"), "future": .integer(1)]), for: "CameraConfig")
    #expect(try store.get() == CameraConfig())
    try defaults.save(.dictionary(["saveToCameraRoll": .bool(false)]), for: "CameraConfig")
    #expect(try store.get() == CameraConfig(savesToCameraRoll: false))
    // Better than nil, which would mean that nothing is stored.
    try defaults.save(.string("odd"), for: "CameraConfig")
    try expect(.undecodable(stored: "string")) { _ = try store.get() }
  }

  @Test func `E4 a persistent store sets, gets, removes and synchronizes`() throws {
    let bench = try Bench()
    let store = try PersistentStore<CameraConfig>(in: bench.defaults())
    #expect(try store.get() == nil)
    try store.set(CameraConfig(size: .small))
    try store.synchronize()
    let list = try String(contentsOfFile: bench.places.propertyList(of: Bench.domain).string, encoding: .utf8)
    #expect(list.contains("<string>small</string>"))
    try store.remove()
    #expect(try store.get() == nil)
  }

  @Test(.tags(.process), .defaultRun)
  func `E4 a persistent store without a store is in the standard one`() async {
    await #expect(processExitsWith: .success) {
      let folder = FileManager.default.temporaryDirectory.resolvingSymlinksInPath().appending(path: "coffer-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
      setenv("XDG_CONFIG_HOME", folder.path(), 1)
      let store = PersistentStore<CameraConfig>()
      #expect(try store.get() == nil)
      try store.set(CameraConfig(size: .small))
      try store.synchronize()
      let list = try String(contentsOf: folder.appending(path: DefaultsDomain.standardName + ".plist"), encoding: .utf8)
      #expect(try list.contains("<string>small</string>") && PersistentStore<CameraConfig>().get()?.size == .small)
      try FileManager.default.removeItem(at: folder)
    }
  }

  @Test func `E5 an in-memory store has the same interface`() throws {
    let store = InMemoryStore<CameraConfig>()
    #expect(try store.get() == nil)
    try store.set(CameraConfig(size: .small))
    #expect(try store.get()?.size == .small)
    try store.remove()
    #expect(try store.get() == nil && InMemoryStore<CameraConfig>().get() == nil)
  }

  @Test func `E6 an erased store is injected, and replaced in a test`() throws {
    let bench = try Bench()
    let controller = CameraController()
    controller.config = AnyStore(try PersistentStore(in: bench.defaults()))
    try controller.config.set(CameraConfig(size: .large))
    #expect(try bench.defaults().names() == ["CameraConfig"])
    let ds = InMemoryStore<CameraConfig>()
    try ds.set(CameraConfig(size: .small))
    controller.config = AnyStore(ds)
    #expect(try controller.config.get()?.size == .small)
  }

  @Test func `E7 memory too goes through the conversion`() throws {
    struct Lossy: DefaultConvertible {
      static let key = "Lossy"
      var kept = 1, dropped = 1
      init(kept: Int, dropped: Int) { (self.kept, self.dropped) = (kept, dropped) }
      init?(_ object: PlainForm) {
        guard let kept = Int(plainForm: object) else { return nil }
        self.init(kept: kept, dropped: 0)
      }
      func serialize() throws -> PlainForm { kept.plainForm() }
    }
    let store = InMemoryStore<Lossy>()
    try store.set(Lossy(kept: 5, dropped: 5))
    #expect(try store.get()?.kept == 5 && store.get()?.dropped == 0)
  }

  @Test func `E gap: any suite, observation, errors and threads`() async throws {
    let bench = try Bench()
    let store = try PersistentStore<Counter>(in: bench.defaults("group.com.example"))
    let owner = Owner(), seen = Collected<Int?>()
    try store.observe(owner) { seen.add($0?.count) }
    try store.set(Counter(count: 1))
    eventually { seen.all.last == 1 }
    let memory = InMemoryStore<Mode>()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<100 { do { try memory.set(.on) } catch { Issue.record(error) } }
        }
      }
    }
    #expect(try memory.get() == .on)
  }
}
