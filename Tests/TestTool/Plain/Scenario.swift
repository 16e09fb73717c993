internal import CofferDefaults
internal import CofferPlatform
internal import CofferStorage
internal import Foundation
internal import SystemPackage

/// A fixed life of a domain, and the expected values after each step.
enum Scenario {
  typealias Values = [String: PlainForm]

  struct Step: Sendable {
    let name: String
    let run: @Sendable (DefaultsStore) throws -> Void
    let after: Values
  }

  static let steps: [Step] = {
    let text = String(repeating: "text ", count: 40)
    var values: Values = [:], steps: [Step] = []
    func add(_ name: String, _ change: Values, removing: [String] = [], _ run: @escaping @Sendable (DefaultsStore) throws -> Void)
    {
      for (key, form) in change { values[key] = form }
      for key in removing { values[key] = nil }
      steps.append(Step(name: name, run: run, after: values))
    }
    add("set a", ["a": .integer(1)]) { try $0.save(.integer(1), for: "a") }
    add("set text", ["text": .string(text)]) { try $0.save(.string(text), for: "text") }
    add("synchronize", [:]) { try $0.synchronize() }
    add("set a again", ["a": .integer(2)]) { try $0.save(.integer(2), for: "a") }
    add("remove text", [:], removing: ["text"]) { try $0.save(nil, for: "text") }
    add("update", ["count": .integer(1)]) { store in
      try store.update("count") { (_) throws(StoreError) in .integer(1) }
    }
    add("batch", ["b": .bool(true), "c": .real(0.5)]) { store in
      var batch = Batch<Plain>()
      batch.writes = ["b": .set(.bool(true)), "c": .set(.real(0.5))]
      try store.commit(batch, decision: nil)
    }
    // More than one allocation step, so that the journal must grow.
    let large = PlainForm.data(Data(repeating: 7, count: 100_000))
    add("set large", ["large": large]) { try $0.save(large, for: "large") }
    add("synchronize again", [:]) { try $0.synchronize() }
    add("set last", ["last": .integer(9)]) { try $0.save(.integer(9), for: "last") }
    add("close", [:]) { try $0.close() }
    return steps
  }()

  static func open(
    _ folder: FilePath, _ domain: String, _ calls: SystemCalls = SystemCalls(), _ decisions: DecisionLookup? = nil
  ) throws(StoreError) -> DefaultsStore {
    var options = EngineOptions(decisions: decisions)
    options.calls = calls
    options.foldsWhenIdle = false
    options.isShared = false
    return try DefaultsStore.open(domain: domain, in: folder, options: options)
  }

  static func values(in store: DefaultsStore) throws(StoreError) -> Values {
    var values: Values = [:]
    for name in try store.names() { values[name] = try store.load(name) }
    return values
  }

  /// Runs all steps, printing each acknowledgment: `mapped` or `calls`, and the number of the fatal call.
  static func live(_ folder: FilePath, _ domain: String, _ rest: [String]) throws {
    var calls = FaultPoint.calls(isMapped: rest[0] == "mapped")
    if rest.count > 1, let number = Int(rest[1]) { calls = FaultPoint(at: number, .death).wrapping(calls) }
    let store = try open(folder, domain, calls)
    for (number, step) in steps.enumerated() {
      try step.run(store)
      FileHandle.standardOutput.write(Data([UInt8(number)]))
    }
  }

  static func examine(_ rest: [String]) throws {
    for index in stride(from: 0, to: rest.count, by: 2) {
      do { try examine(FilePath(rest[index]), "d", Int(rest[index + 1]) ?? 0) } catch { print("\(rest[index]): \(error)") }
    }
  }

  /// Prints faults of the domain after `count` acknowledged steps, if any.
  private static func examine(_ folder: FilePath, _ domain: String, _ count: Int) throws {
    let store = try open(folder, domain)
    let found = try values(in: store)
    let allowed = [count == 0 ? [:] : steps[count - 1].after, steps[min(count, steps.count - 1)].after]
    if !allowed.contains(found) { print("\(folder), after \(count) steps: \(found.keys.sorted())") }
    try store.save(.bool(true), for: "examined")
    try store.close()
    let data = FileManager.default.contents(atPath: folder.appending(domain + ".plist").string) ?? Data()
    let list = try PropertyListSerialization.propertyList(from: data, options: [], format: nil) as? [String: Any]
    if Set(list?.keys.map { $0 } ?? []) != Set(found.keys).union(["examined"]) {
      print("\(folder): Foundation reads something else")
    }
  }
}
