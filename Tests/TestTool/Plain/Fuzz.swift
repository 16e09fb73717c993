internal import CofferDefaults
internal import CofferPlatform
internal import CofferStorage
internal import Foundation
internal import SystemPackage
internal import CofferTestSupport

/// Hostile bytes from one seed: property lists, journals and command lines. Prints failures.
enum Fuzz {
  /// Without syncs: only the written bytes are tested.
  private static func open(_ folder: FilePath, _ arguments: [String] = []) throws(StoreError) -> DefaultsStore {
    var options = EngineOptions()
    options.calls.synchronize = { _ in 0 }
    options.foldsWhenIdle = false
    options.isShared = false
    return try DefaultsStore.open(domain: "d", in: folder, layers: DefaultsLayers(arguments), options: options)
  }

  private static func removeFiles(_ folder: FilePath) throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.string) {
      try FileManager.default.removeItem(atPath: folder.appending(name).string)
    }
  }

  private static func mutated(_ seed: Data, _ random: inout Random) -> Data {
    var bytes = [UInt8](seed)
    for _ in 0..<(Bool.random(using: &random) ? 1 : 4) where !bytes.isEmpty {
      let place = Int.random(in: bytes.indices, using: &random)
      let length = min(Int.random(in: 1...64, using: &random), bytes.count - place)
      switch Int.random(in: 0..<12, using: &random) {
      case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      case 1: bytes[place] = [0, 1, 0x7F, 0x80, 0xFF, 0x3C, 0x26].randomElement(using: &random) ?? 0
      case 2: bytes.removeSubrange(place..<place + length)
      case 3: bytes.insert(contentsOf: bytes[place..<place + length], at: place)
      case 4:
        bytes.replaceSubrange(place..<place + length, with: (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) })
      case 5: bytes.removeLast(bytes.count - place)
      default: bytes[place] ^= 1  // Most often a digit or a letter becomes another.
      }
    }
    return Data(bytes)
  }

  // MARK: Property lists

  static func lists(_ folder: FilePath, seed: UInt64, count: Int, _ seeds: FilePath) throws {
    var random = Random(seed: seed)
    let names = try FileManager.default.contentsOfDirectory(atPath: seeds.string).filter { $0.hasSuffix(".plist") }.sorted()
    func samples(_ names: [String]) -> [Data] {
      names.compactMap { FileManager.default.contents(atPath: seeds.appending($0).string) }
    }
    let all = samples(names), good = samples(names.filter { !$0.hasPrefix("bad-") })
    let list = folder.appending("d.plist").string
    var readable = 0
    for number in 0..<count {
      try removeFiles(folder)
      let data = mutated(number % 4 == 0 ? all[number / 4 % all.count] : good[number % good.count], &random)
      // A newly written list might be half written, and gets a second chance.
      let old: [FileAttributeKey: Any] = [.modificationDate: Date(timeIntervalSince1970: 1e9)]
      guard FileManager.default.createFile(atPath: list, contents: data) else { exit(4) }
      try FileManager.default.setAttributes(old, ofItemAtPath: list)
      do throws(StoreError) {
        let store = try open(folder)
        readable += 1
        if number % 4 == 0 { try keepsAll(of: store, folder, "list \(number)") }
      } catch {
        guard error.kind == .damaged else {
          print("list \(number): \(error)")
          continue
        }
        if FileManager.default.contents(atPath: list) != data { print("list \(number): damaged, and changed") }
      }
    }
    print("done \(count), \(readable) of them readable")
  }

  /// A write to one key and a fold leave all other values unchanged.
  private static func keepsAll(of store: DefaultsStore, _ folder: FilePath, _ what: String) throws(StoreError) {
    var values = try Scenario.values(in: store)
    do throws(StoreError) { try store.save(.integer(42), for: "written by the test") } catch {
      if case .tooLarge = error.kind { return }
      throw error
    }
    values["written by the test"] = .integer(42)
    try store.synchronize()
    let found = try Scenario.values(in: open(folder))
    if found != values { print("\(what): \(values.count) values became \(found.count)") }
  }

  // MARK: Journals

  static func journals(_ folder: FilePath, seed: UInt64, count: Int) throws {
    var random = Random(seed: seed)
    let store = try open(folder)
    for number in 0..<5 { try store.save(.integer(Int64(number)), for: "folded.\(number)") }
    try store.synchronize()
    let list = FileManager.default.contents(atPath: folder.appending("d.plist").string) ?? Data()
    for number in 0..<20 { try store.save(.string("journalled \(number)"), for: "journalled.\(number)") }
    let journal = folder.appending(".d.plist.coffer").string
    let sample = FileManager.default.contents(atPath: journal) ?? Data()
    var readable = 0
    for number in 0..<count {
      try removeFiles(folder)
      guard FileManager.default.createFile(atPath: folder.appending("d.plist").string, contents: list),
        FileManager.default.createFile(
          atPath: journal, contents: mutatedJournal(sample, &random), attributes: [.posixPermissions: 0o600])
      else { exit(4) }
      do throws(StoreError) {
        let store = try open(folder)
        readable += 1
        for name in (0..<5).map({ "folded.\($0)" }) where try store.load(name) == nil { print("journal \(number): \(name) lost") }
        if number % 4 == 0 { try keepsAll(of: store, folder, "journal \(number)") }
      } catch {
        switch error.kind {
        case .damaged, .newerFormat, .tooLarge: continue
        default: print("journal \(number): \(error)")
        }
      }
    }
    print("done \(count), \(readable) of them readable")
  }

  /// Half of the changes are in the header and the first records, which random offsets seldom hit.
  private static func mutatedJournal(_ sample: Data, _ random: inout Random) -> Data {
    guard Bool.random(using: &random) else { return mutated(sample, &random) }
    var data = sample
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      let place =
        Bool.random(using: &random) ? 8 * Int.random(in: 0..<18, using: &random) : Int.random(in: 4096..<6000, using: &random)
      let numbers: [UInt64] = [0, 1, 4096, .max, 1 << 40, 1 << 41 | 200, 64 << 20, .random(in: 0 ... .max, using: &random)]
      let number = numbers.randomElement(using: &random) ?? 0
      withUnsafeBytes(of: number) { data.replaceSubrange(place..<place + 8, with: $0) }
    }
    return data
  }

  // MARK: Command lines

  static func arguments(_ folder: FilePath, seed: UInt64, count: Int) throws {
    var random = Random(seed: seed)
    let parts = ["-", "--", "=", "a", "key", "-5", "-.5", "5", "1e9", ".", "ä", "\u{0}", "\n", "nan", " ", "-k", "e\u{301}", "😀"]
    var overrides = 0
    for number in 0..<count {
      let line = (0..<Int.random(in: 0...8, using: &random)).map { _ in
        (0..<Int.random(in: 0...5, using: &random)).map { _ in parts.randomElement(using: &random) ?? "" }.joined()
      }
      let store = try open(folder, line)
      for name in try store.names() {
        overrides += 1
        guard case .argument(let text)? = try store.load(name), line.contains(where: { $0.hasSuffix(text) }) else {
          print("line \(number): \(line.debugDescription) gave \(name.debugDescription) something else")
          continue
        }
      }
    }
    print("done \(count), \(overrides) overrides")
  }
}
