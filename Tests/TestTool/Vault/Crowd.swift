internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import CofferVault
internal import Foundation
internal import SystemPackage

/// One of many processes on one vault, with its own items and shared counters: prints each acknowledged increment, and
/// finally its actions.
enum Crowd {
  static let counters = 4

  static func join(_ path: FilePath, _ keyFile: String, _ seed: UInt64, _ count: Int) throws {
    var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
    func random(_ limit: Int) -> Int {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return Int(state % UInt64(limit))
    }
    let vault = try VaultVerbs.unlock(path, keyFile)
    var mine: [Int: String] = [:]
    var done: [String: Int] = [:]
    for step in 0..<count {
      let number = random(8)
      let name = try ItemName(service: "process \(seed)", account: "\(number)")
      switch random(10) {
      case 0..<3:
        guard VaultVerbs.text(try vault.get(name)) == mine[number] else { return wrong("its own item", step) }
        done["get", default: 0] += 1
      case 3..<5:
        try vault.set(SecretForm(VaultVerbs.secret("\(seed) \(step)")), for: name)
        mine[number] = "\(seed) \(step)"
        done["set", default: 0] += 1
      case 5:
        guard try vault.remove(name) == (mine[number] != nil) else { return wrong("a deletion", step) }
        mine[number] = nil
        done["delete", default: 0] += 1
      case 6..<9:
        let counter = random(counters)
        try increment(counter, vault)
        VaultVerbs.say("incremented \(counter)")
        done["increment", default: 0] += 1
      default:
        guard try vault.list(service: "process \(seed)").count == mine.count else { return wrong("a list", step) }
        done["list", default: 0] += 1
      }
    }
    for (number, value) in mine {
      guard VaultVerbs.text(try vault.get(ItemName(service: "process \(seed)", account: "\(number)"))) == value else {
        return wrong("its own item", count)
      }
    }
    VaultVerbs.say("done \(done.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " "))")
  }

  private static func increment(_ counter: Int, _ vault: borrowing UnlockedVault) throws {
    let name = try ItemName(service: "counters", account: "\(counter)")
    while true {
      do {
        let item = try vault.item(name)
        let value = VaultVerbs.text(try vault.get(name)).flatMap(Int.init) ?? 0
        let form = SecretForm(try VaultVerbs.secret("\(value + 1)"))
        // A write between the two reads changes the revision.
        try vault.set(form, for: name, if: item.map { .revision($0.revision) } ?? .absent)
        return
      } catch let error as StoreError where error.kind == .conflict || error.kind == .alreadyExists { continue }
    }
  }

  private static func wrong(_ what: String, _ step: Int) {
    VaultVerbs.say("WRONG \(what) at step \(step)")
    exit(5)
  }
}
