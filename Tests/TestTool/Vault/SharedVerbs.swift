internal import CofferMemory
internal import CofferPlatform
internal import CofferPostgres
internal import CofferStorage
internal import CofferVault
internal import Foundation

/// What another process does with a vault on a server.
///
/// `TestTool shared-count PLACE KEYFILE COUNT` adds one to the item `count` so many times. `shared-write PLACE KEYFILE NUMBER COUNT` stores
/// increasing numbers in an item of its own, and says of each whether it was acknowledged, refused, or left unknown.
enum SharedVerbs {
  static func run(_ verb: String, _ arguments: [String]) throws -> Bool {
    guard verb.hasPrefix("shared-") else { return false }
    PostgresVaults.use()
    let place = VaultPlace(arguments[0])
    let vault = try LockedVault.open(place, options: VaultVerbs.options).unlock(with: VaultVerbs.credentials(arguments[1]))
    switch verb {
    case "shared-count": try count(vault, Int(arguments[2]) ?? 0)
    case "shared-write": try write(vault, arguments[2], Int(arguments[3]) ?? 0)
    default: return false
    }
    return true
  }

  private static func count(_ vault: borrowing UnlockedVault, _ times: Int) throws {
    let name = try ItemName(service: "shared", account: "count")
    var done = 0
    while done < times {
      do {
        let item = try vault.item(name)
        let value = VaultVerbs.text(try vault.get(name)).flatMap(Int.init) ?? 0
        try vault.set(
          SecretForm(VaultVerbs.secret("\(value + 1)")), for: name, if: item.map { .revision($0.revision) } ?? .absent)
        done += 1
      } catch let error as StoreError where [.conflict, .alreadyExists, .busy, .unreachable].contains(error.kind) { continue }
    }
    VaultVerbs.say("done \(done)")
  }

  private static func write(_ vault: borrowing UnlockedVault, _ number: String, _ times: Int) throws {
    let name = try ItemName(service: "writer", account: number)
    for step in 1...times {
      do {
        try vault.set(SecretForm(VaultVerbs.secret("\(step)")), for: name)
        VaultVerbs.say("acknowledged \(step)")
      } catch let error as StoreError where [.busy, .unreachable].contains(error.kind) {
        VaultVerbs.say("refused \(step)")
        usleep(20_000)
      } catch let error as StoreError where error.kind == .outcomeUnknown {
        VaultVerbs.say("unknown \(step)")
      }
    }
    VaultVerbs.say("done \(times)")
  }
}
