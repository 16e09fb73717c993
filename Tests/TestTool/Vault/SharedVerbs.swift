internal import CofferMemory
internal import CofferPlatform
internal import CofferPostgres
internal import CofferStorage
internal import CofferVault
internal import Foundation

/// Another process with a vault on a server.
///
/// `TestTool shared-count PLACE KEYFILE COUNT` adds one to the item `count` so many times. `shared-write PLACE KEYFILE
/// NUMBER COUNT` stores increasing numbers in its own item, and reports each as acknowledged, refused, or unknown.
/// `settings-count PLACE COUNT` and `settings-write PLACE NUMBER COUNT` do so with settings there. `shared-both PLACE
/// KEYFILE NUMBER` stores increasing numbers in a setting and an item together, endlessly. `shared-life PLACE KEYFILE
/// NUMBER` stores and reads endlessly, and times it. `shared-watch PLACE KEYFILE` reports changes in the service `feed` and
/// in the settings.
enum SharedVerbs {
  static func run(_ verb: String, _ arguments: [String]) throws -> Bool {
    guard verb.hasPrefix("shared-") || verb.hasPrefix("settings-") else { return false }
    PostgresVaults.use()
    let place = VaultPlace(arguments[0])
    if verb.hasPrefix("settings-") { return try settings(verb, place, arguments) }
    let vault = try LockedVault.open(place, options: VaultVerbs.options).unlock(with: VaultVerbs.credentials(arguments[1]))
    switch verb {
    case "shared-count": try count(VaultStore(service: "shared", vault: vault), Int(arguments[2]) ?? 0)
    case "shared-write": try write(vault, arguments[2], Int(arguments[3]) ?? 0)
    case "shared-life": try live(vault, arguments[2])
    case "shared-watch": try watch(place, VaultStore(service: "feed", vault: vault))
    case "shared-both": try both(place, VaultStore(service: "app", vault: vault), arguments[2])
    default: return false
    }
    return true
  }

  private static func count(_ store: VaultStore, _ times: Int) throws {
    var (done, refused) = (0, 0)
    while done < times {
      do {
        try store.update("count", next)
        (done, refused) = (done + 1, 0)
      } catch {
        refused += 1
        // A server that stays away does not return for this.
        guard [.busy, .unreachable].contains(error.kind), refused < 20 else { throw error }
      }
    }
    VaultVerbs.say("done \(done)")
  }

  private static func next(_ form: SecretForm?) throws(StoreError) -> SecretForm? {
    let value = VaultVerbs.text(form).flatMap(Int.init) ?? 0
    do { return SecretForm(try VaultVerbs.secret("\(value + 1)")) } catch {
      throw StoreError(.memory, "no secret memory", cure: "free some")
    }
  }

  private static func write(_ vault: borrowing UnlockedVault, _ number: String, _ times: Int) throws {
    let name = try ItemName(service: "writer", account: number)
    try write(times) { step in try vault.set(SecretForm(VaultVerbs.secret("\(step)")), for: name) }
  }

  private static func settings(_ verb: String, _ place: VaultPlace, _ arguments: [String]) throws -> Bool {
    let store = try PostgresDefaults.open(domain: "app", at: place)
    switch verb {
    case "settings-count":
      var done = 0
      while done < Int(arguments[1]) ?? 0 {
        do {
          try store.update("count") { (form) throws(StoreError) in
            guard case .integer(let count)? = form else { return .integer(1) }
            return .integer(count + 1)
          }
          done += 1
        } catch { guard [.busy, .unreachable].contains(error.kind) else { throw error } }
      }
      VaultVerbs.say("done \(done)")
    case "settings-write": try write(Int(arguments[2]) ?? 0) { try store.save(.string("\($0)"), for: arguments[1]) }
    default: return false
    }
    return true
  }

  private static func both(_ place: VaultPlace, _ vault: VaultStore, _ name: String) throws {
    let keys = TransactionKeys()
    let router = try StorageRouter(
      plain: PostgresDefaults.open(domain: "app", at: place), vault: vault, keys: keys)
    try write(.max) { step in
      try router.transaction { transaction in
        try transaction.set("\(name) \(step)", for: keys.theme)
        try transaction.set("\(name) \(step)", for: keys.size)
        try transaction.set(Sealed("\(name) \(step)"), for: keys.token)
      }
    }
  }

  /// Stores increasing numbers in its own item, and reads it after each: `write OUTCOME NUMBER BEGIN END` and `read OUTCOME
  /// VALUE BEGIN END`, in nanoseconds of a clock shared by all processes.
  private static func live(_ vault: borrowing UnlockedVault, _ number: String) throws {
    let name = try ItemName(service: "writer", account: number)
    for step in 1... {
      try time("write") {
        try vault.set(SecretForm(VaultVerbs.secret("\(step)")), for: name)
        return "\(step)"
      }
      try time("read") { try VaultVerbs.text(vault.get(name)) ?? "nothing" }
      usleep(10_000)
    }
  }

  private static func time(_ verb: String, _ body: () throws -> String) throws {
    let begin = now()
    do {
      let value = try body()
      VaultVerbs.say("\(verb) ok \(value) \(begin) \(now())")
    } catch let error as StoreError {
      VaultVerbs.say("\(verb) \(error.kind) - \(begin) \(now())")
    }
  }

  private static func now() -> UInt64 { DispatchTime.now().uptimeNanoseconds }

  private static func watch(_ place: VaultPlace, _ vault: VaultStore) throws {
    let settings = try PostgresDefaults.open(domain: "feed", at: place)
    let subscriptions = try [vault.changes, settings.changes].map { feed in
      try feed.subscribe { event in
        switch event {
        case .changes(let changes): for change in changes { VaultVerbs.say("told \(change.name) \(change.cause)") }
        default: VaultVerbs.say("\(event)")
        }
      }
    }
    VaultVerbs.say("watching")
    withExtendedLifetime((settings, vault, subscriptions)) { while true { sleep(1000) } }
  }

  private static func write(_ times: Int, _ store: (Int) throws -> Void) throws {
    for step in 1...times {
      do {
        try store(step)
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
