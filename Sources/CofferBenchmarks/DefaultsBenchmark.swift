internal import Coffer
internal import CofferDefaults
internal import CofferStorage
internal import Foundation
internal import SystemPackage

/// The costs of the plain store against the minimum for each operation, in the same run.
enum DefaultsBenchmark {
  static func run(in folder: String) throws {
    setenv("XDG_CONFIG_HOME", folder, 1)
    let place = FilePath(folder)
    try DefaultsMemory.measure(in: place)
    for count in [10, 1_000, 10_000] { try DefaultsReads.kinds(in: place, count) }
    try DefaultsReads.decoded(in: place)
    try DefaultsReads.layers(in: place)
    try DefaultsReads.hotKey(in: place)
    try DefaultsReads.threads(in: place)
    for count in [10, 1_000, 10_000] { try DefaultsWrites.sets(in: place, count) }
    try DefaultsWrites.seenByAnother(in: place)
    try DefaultsWrites.opening(in: place)
    try DefaultsWrites.folds(in: place)
  }

  static func names(_ count: Int) -> [String] { (0..<count).map { "com.example.key.\($0)" } }

  /// A domain with a `value` for each name.
  static func domain(
    _ domain: String, in folder: FilePath, _ names: [String], suites: [String] = [], _ value: (Int) -> PlainForm
  ) throws -> DefaultsStore {
    let store = try DefaultsStore.open(domain: domain, in: folder)
    var batch = Batch<Plain>()
    for (number, name) in names.enumerated() { batch.writes[name] = .set(value(number)) }
    try store.commit(batch, decision: nil)
    try store.synchronize()
    return store
  }

  /// A store that shares nothing with others of this process, like another process's.
  static func separate(_ domain: String, in folder: FilePath) throws -> DefaultsStore {
    var options = EngineOptions()
    options.isShared = false
    return try DefaultsStore.open(domain: domain, in: folder, options: options)
  }
}

/// A key space of one key: a router knows the keys of any number of them.
struct OneKey<Value: Sendable>: KeySpace {
  let key: StorageKey<Value, Plain>
}

struct TypedDomain<Value: PlainValue> {
  let router: StorageRouter
  let keys: [StorageKey<Value, Plain>]

  init(_ store: DefaultsStore, _ names: [String], default value: Value) throws {
    let keys = names.map { StorageKey($0, default: value) }
    self.keys = keys
    router = try StorageRouter(plain: store, vault: MemoryStore<Vault>(), spaces: keys.map { OneKey(key: $0) })
  }
}
