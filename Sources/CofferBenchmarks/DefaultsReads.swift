internal import Coffer
internal import CofferDefaults
internal import CofferStorage
internal import Foundation
internal import SystemPackage

/// Reads, against a bare lock around a dictionary.
enum DefaultsReads {
  private enum Theme: String, PlainValue { case light, dark, contrast }
  private struct Window: Codable, PlainValue { var width = 800, height = 600, title = "Untitled document" }

  /// Every key in turn, by the native kinds of a property list.
  static func kinds(in folder: FilePath, _ count: Int) throws {
    let names = DefaultsBenchmark.names(count)
    let peer = LockPeer(names), texts = names.map { "value of " + $0 }
    func domain(_ kind: String, _ value: (Int) -> PlainForm) throws -> DefaultsStore {
      try DefaultsBenchmark.domain("reads.\(kind).\(count)", in: folder, names, value)
    }
    let integers = try domain("integer") { .integer(Int64($0)) }
    let bool = try TypedDomain(domain("bool") { .bool($0 % 2 == 0) }, names, default: false)
    let int = try TypedDomain(integers, names, default: 0)
    let double = try TypedDomain(domain("real") { .real(Double($0)) }, names, default: 0.0)
    let string = try TypedDomain(domain("string") { .string(texts[$0]) }, names, default: "")
    let theirs = try FoundationPeer("foundation.\(count)", names)
    let goals = [Goal.times(3), .microseconds(0.15)]
    try Measure.table(
      "get, every one of \(count) keys in turn",
      rounds: 15,
      [
        Contender(name: "store, Int", count: 20_000, goals: goals) { use(try integers.load(names[$0 % count])) },
        Contender(name: "router, Bool", count: 20_000, goals: goals) { use(try bool.router.value(for: bool.keys[$0 % count])) },
        Contender(name: "router, Int", count: 20_000, goals: goals) { use(try int.router.value(for: int.keys[$0 % count])) },
        Contender(name: "router, Double", count: 20_000, goals: goals) {
          use(try double.router.value(for: double.keys[$0 % count]))
        },
        Contender(name: "router, String", count: 20_000, goals: goals) {
          use(try string.router.value(for: string.keys[$0 % count]))
        },
        Contender(name: "Foundation, Int", count: 200) { use(theirs.get(names[$0 % count])) },
        Contender(name: "Mutex<[String: Int]>", count: 20_000) { use(peer.get(names[$0 % count])) },
      ])
  }

  /// Values that are decoded from another stored type.
  static func decoded(in folder: FilePath) throws {
    let count = 1_000, names = DefaultsBenchmark.names(count)
    let peer = LockPeer(names)
    let themes = try TypedDomain(
      DefaultsBenchmark.domain("reads.enum", in: folder, names) { .string(["light", "dark", "contrast"][$0 % 3]) },
      names, default: Theme.light)
    let windows = try TypedDomain(
      DefaultsBenchmark.domain("reads.codable", in: folder, names) {
        .dictionary(["width": .integer(Int64($0)), "height": .integer(600), "title": .string("Untitled document")])
      }, names, default: Window())
    let lists = try TypedDomain(
      DefaultsBenchmark.domain("reads.array", in: folder, names) { _ in .array([.string("one"), .string("two")]) }, names,
      default: [String]())
    try Measure.table(
      "get of a decoded value, every one of \(count) keys in turn",
      rounds: 15,
      [
        Contender(name: "router, enum of String", count: 20_000, goals: [.times(6)]) {
          use(try themes.router.value(for: themes.keys[$0 % count]))
        },
        Contender(name: "router, Codable struct", count: 20_000, goals: [.times(6)]) {
          use(try windows.router.value(for: windows.keys[$0 % count]))
        },
        Contender(name: "router, [String]", count: 20_000, goals: [.times(6)]) {
          use(try lists.router.value(for: lists.keys[$0 % count]))
        },
        Contender(name: "Mutex<[String: Int]>", count: 20_000) { use(peer.get(names[$0 % count])) },
      ])
  }

  /// The cost of another layer or suite to a read that passes through it.
  static func layers(in folder: FilePath) throws {
    let count = 1_000, names = DefaultsBenchmark.names(count)
    for suite in ["layers.empty", "layers.empty2"] {
      _ = try DefaultsBenchmark.domain(suite, in: folder, ["other"]) { .integer(Int64($0)) }
    }
    let domain = "layers.full"
    let plain = try DefaultsBenchmark.domain(domain, in: folder, names) { .integer(Int64($0)) }
    let variables = EnvironmentLayer(prefix: "APP_", environment: ["APP_OTHER": "1", "APP_COM_EXAMPLE_KEY_": "2"])
    let arguments = try DefaultsStore.open(domain: domain, in: folder, arguments: ["-other", "1"])
    let environment = try DefaultsStore.open(domain: domain, in: folder, environment: variables)
    let one = try DefaultsStore.open(domain: "layers.empty", in: folder, suites: [domain])
    let two = try DefaultsStore.open(domain: "layers.empty", in: folder, suites: ["layers.empty2", domain])
    let registered = try DefaultsStore.open(
      domain: "layers.empty", in: folder, registered: Dictionary(uniqueKeysWithValues: names.map { ($0, .integer(1)) }))
    func contender(_ name: String, _ store: DefaultsStore, _ layers: Double) -> Contender {
      Contender(name: name, count: 20_000, goals: layers == 0 ? [] : [.microsecondsMore(0.06 * layers)]) {
        use(try store.load(names[$0 % count]))
      }
    }
    try Measure.table(
      "get through layers",
      rounds: 15,
      [
        contender("launch arguments above", arguments, 1), contender("environment above", environment, 1),
        contender("from a suite", one, 1), contender("from a second suite", two, 2),
        contender("from registered values", registered, 1), contender("one domain alone", plain, 0),
      ])
  }

  /// One key that is read repeatedly, among few and many.
  static func hotKey(in folder: FilePath) throws {
    var contenders: [Contender] = []
    for count in [100_000, 10_000, 1_000, 10] {
      let names = DefaultsBenchmark.names(count)
      let store = try DefaultsBenchmark.domain("hot.\(count)", in: folder, names) { .integer(Int64($0)) }
      contenders.append(
        Contender(name: "among \(count)", count: 20_000, goals: count == 10 ? [] : [.times(1.3)]) { _ in
          use(try store.load("com.example.key.7"))
        })
    }
    try Measure.table("get of one hot key", rounds: 15, contenders)
  }

  /// Threads that read concurrently; an operation is one of 20 000 reads, on any thread.
  static func threads(in folder: FilePath) throws {
    let count = 1_000, names = DefaultsBenchmark.names(count)
    let store = try DefaultsBenchmark.domain("threads", in: folder, names) { .integer(Int64($0)) }
    func reads(_ threads: Int) -> Contender {
      let total = 400_000
      return Contender(name: "\(threads) threads", count: 1, goals: threads == 1 ? [] : [.times(1.25)]) { _ in
        let ends = (0..<threads).map { _ in DispatchSemaphore(value: 0) }
        for thread in 0..<threads {
          Thread.detachNewThread {
            do {
              for step in 0..<total / threads { use(try store.load(names[(step &+ thread &* 250) % count])) }
            } catch { print("a read failed: \(error)") }
            ends[thread].signal()
          }
        }
        for end in ends { end.wait() }
      }
    }
    try Measure.table("400 000 reads by so many threads", rounds: 9, clock: .wall, [reads(4), reads(2), reads(1)])
  }
}
