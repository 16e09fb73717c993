import Coffer
import CofferDefaults
import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import Testing

@testable import CofferPostgres

@Suite(.tags(.campaign, .kill, .process), .wholeRun) struct SettingsTransactionCampaign {
  private let keys = SettingsKeys()

  /// A router over both halves of `shared`, which has a vault, through `place`.
  private func router(_ shared: SharedVault, at place: VaultPlace? = nil) throws -> StorageRouter {
    let place = place ?? shared.place
    let vault = try LockedVault.open(place, options: .withoutPins).unlock(with: shared.credentials())
    return try StorageRouter(
      plain: PostgresDefaults.open(domain: "app", at: place), vault: VaultStore(service: "app", vault: vault), keys: keys)
  }

  private func store(_ value: String, in router: StorageRouter) throws {
    try router.transaction { transaction in
      try transaction.set(value, for: keys.theme)
      try transaction.set(value, for: keys.size)
      try transaction.set(Sealed(value), for: keys.token)
    }
  }

  /// The values of both halves at one moment, one word if they agree.
  private func found(in router: StorageRouter) throws -> String {
    let (theme, size, token) = try router.values(keys.theme, keys.size, keys.token)
    let all = try Set([theme, size, token.map { try $0.reveal() } ?? "absent"])
    return all.count == 1 ? theme : "torn: \(all.sorted())"
  }

  @Test func `both halves are one transaction of the server, and nothing is left to be settled`() throws {
    let shared = try SharedVault()
    _ = try shared.create()
    let router = try router(shared)
    try store("one", in: router)
    try store("two", in: router)
    let schema = shared.schema
    #expect(try found(in: router) == "two")
    #expect(
      try shared.server.sql(
        "SELECT count(DISTINCT x) FROM (SELECT xmin::text x FROM \(schema).plain UNION ALL SELECT xmin::text FROM \(schema).state) a"
      ) == "1")
    #expect(try shared.server.sql("SELECT count(*) FROM \(schema).decided") == "0")
    let fleet = try SharedVault()
    let app = try openFleet(fleet.place, fleet.create())
    #expect(try app.value(for: FleetKeys().interval) == 60 && app.value(for: FleetKeys().token)?.reveal() == "t")
    #expect(throws: StoreError.self) {
      try router.transaction { transaction in
        try transaction.set("three", for: keys.theme)
        try transaction.set(Sealed(String(repeating: "x", count: VaultItem.largestValue + 1)), for: keys.token)
      }
    }
    #expect(try found(in: router) == "two")
    // Settings in another schema of the database share its transactions too.
    let elsewhere = try PostgresDefaults.open(domain: "app", at: VaultPlace(shared.server.place()))
    try store("three", in: StorageRouter(plain: elsewhere, vault: router.vault, keys: keys))
    #expect(try elsewhere.load("theme") == .string("three") && router.value(for: keys.theme) == "two")
    #expect(try router.value(for: keys.token)?.reveal() == "three")
  }

  @Test func `settings and a vault that are not in one database refuse a transaction that writes to both`() throws {
    let shared = try SharedVault()
    let name = "b\(UInt64.random(in: 0 ... .max))"
    try shared.server.sql("CREATE DATABASE \(name) ENCODING 'LATIN1' TEMPLATE template0")
    let file = VaultPlace.file(shared.folder.path.appending("vault.sqlite"))
    let elsewhere = VaultPlace(shared.server.place().replacing("/postgres#", with: "/\(name)#"))
    #expect(kind { _ = try PostgresDefaults.open(domain: "app", at: elsewhere) } == .unsupported, "text not in UTF-8")
    let settings = try PostgresDefaults.open(domain: "app", at: shared.place)
    for place in [file, elsewhere] {
      let vault = try UnlockedVault.create(at: place, with: shared.credentials(), options: .withoutPins)
      let router = try StorageRouter(plain: settings, vault: VaultStore(service: "app", vault: vault), keys: keys)
      try router.set("old", for: keys.theme)
      try router.set("old", for: keys.size)
      try router.set(Sealed("old"), for: keys.token)
      #expect(kind { try store("new", in: router) } == .unsupported)
      #expect(try found(in: router) == "old")
      // A writer of one half locks the other too, and a reader of both sees one moment.
      try router.transaction { transaction in
        let token = try transaction.value(for: keys.token)?.reveal() ?? ""
        try transaction.set("\(token)er", for: keys.theme)
      }
      try router.transaction { transaction in
        try transaction.set(Sealed(transaction.value(for: keys.theme)), for: keys.token)
      }
      try router.set("older", for: keys.size)
      #expect(try found(in: router) == "older")
    }
    var places = Places(home: shared.folder.path)
    places.vault = shared.place
    let agent = try places.agentStore(service: "app")
    #expect(kind { try store("new", in: StorageRouter(plain: settings, vault: agent, keys: keys)) } == .unsupported)
    // A foreign decision, and a call into the settings from inside one.
    var batch = Batch<Plain>()
    batch.writes["theme"] = .set(.string("x"))
    let unmade = Decision(place: "x") { (_) throws(StoreError) in Issue.record("decided") }
    #expect(kind { try settings.commit(batch, decision: unmade) } == .unsupported)
    batch.writes = [:]
    let inside = Decision(place: "x") { (_) throws(StoreError) in try settings.save(nil, for: "a") }
    #expect(kind { try settings.commit(batch, decision: inside) } == .reentrant)
    try shared.server.sql("DROP DATABASE \(name) WITH (FORCE)")
  }

  @Test func `a connection cut at any byte of a write or a transaction leaves all or nothing, and this is known`() throws {
    let server = try DatabaseServer.shared
    let shared = try SharedVault(on: server)
    let proxy = try SocketProxy(server.folder, target: server.port)
    defer { proxy.end() }
    _ = try shared.create()
    let witness = try router(shared)
    let cut = try router(shared, at: VaultPlace(shared.url.replacing(":\(server.port)/", with: ":\(proxy.port)/")))
    let writes: [(String, (String) throws -> Void)] = [
      ("a write", { try cut.set($0, for: keys.theme) }), ("a transaction", { try store($0, in: cut) }),
      // Its vault half changes nothing, so the vault's log cannot show the outcome.
      (
        "half a transaction",
        { value in
          try cut.transaction { transaction in
            try transaction.set(value, for: keys.theme)
            try transaction.remove(keys.other)
          }
        }
      ),
    ]
    for (what, write) in writes {
      for warm in 0..<3 { try write("\(warm)") }
      _ = proxy.count()
      try write("measured")
      let size = proxy.count()
      var tally: [String: Int] = [:]
      for up in [true, false] {
        for byte in Campaign.cases(up ? size.up : size.down, short: what == "a transaction" ? 24 : 8) {
          let value = "\(up)\(byte)"
          let before = try witness.value(for: keys.theme)
          proxy.cut(after: byte, up: up)
          let outcome = kind { try write(value) }
          proxy.mend()
          let isThere = try witness.value(for: keys.theme) == value
          switch outcome {
          case nil: #expect(isThere, "\(what): acknowledged, and not there: \(value)")
          case .unreachable: #expect(try witness.value(for: keys.theme) == before, "\(what): refused, and there: \(value)")
          default: Issue.record("\(what): \(String(describing: outcome)) at \(value)")
          }
          if what == "a transaction" { #expect(try found(in: witness) == (isThere ? value : before)) }
          tally[outcome.map { "\($0)" } ?? "made", default: 0] += 1
        }
      }
      #expect(tally["made", default: 0] > 0 && tally["unreachable", default: 0] > 0)
      print("cut connections of \(what) to settings: \(tally.sorted { $0.key < $1.key })")
    }
  }

  @Test func `programs killed in transactions, and a server killed under them, leave both halves alike`() throws {
    let server = try DatabaseServer.make()
    let shared = try SharedVault(on: server)
    _ = try shared.create()
    let router = try router(shared)
    let key = try shared.keyPath()
    var tally: [String: Int] = [:]
    for kill in 0..<Campaign.size(short: 3, long: 400) {
      let tool = try PostgresTool("shared-both", shared.url, key, "\(kill)")
      try eventually("it writes") { try router.value(for: keys.theme).hasPrefix("\(kill) ") }
      usleep(useconds_t.random(in: 0...60_000))  // No event: any moment.
      let possible = try tool.possibleValues(&tally)
      let stored = try found(in: router)
      #expect(possible.map { "\(kill) \($0)" }.contains(stored), "\(stored) of \(possible)")
    }
    let writers = try (0..<2).map { try PostgresTool("settings-write", shared.url, "writer \($0)", "1000000") }
    let both = try PostgresTool("shared-both", shared.url, key, "both")
    let crashes = Campaign.size(short: 2, long: 200)
    var longest = Duration.zero
    for crash in 0..<crashes {
      try eventually("all write") {
        try router.value(for: keys.theme).hasPrefix("both ") && router.plain.names().count == 4
      }
      usleep(useconds_t.random(in: 50_000...400_000))  // No event: any moment.
      let start = ContinuousClock.now
      try server.crash()
      eventually("a write is acknowledged after crash \(crash)") {
        kind { try router.plain.save(.integer(Int64(crash)), for: "crash") } == nil
      }
      longest = max(longest, ContinuousClock.now - start)
      try router.plain.save(nil, for: "crash")
    }
    for (number, writer) in writers.enumerated() {
      let possible = try writer.possibleValues(&tally)
      let stored = try router.plain.load("writer \(number)")
      #expect(possible.contains { .string($0) == stored }, "writer \(number): \(String(describing: stored)) of \(possible)")
    }
    let possible = try both.possibleValues(&tally)
    let stored = try found(in: router)
    #expect(possible.map { "both \($0)" }.contains(stored), "\(stored) of \(possible)")
    // A writer looks its write up for 15 s: it knows the outcome, unless the server was away that long.
    #expect(tally["acknowledged", default: 0] > 0 && (tally["unknown", default: 0] == 0 || longest > .seconds(10)))
    print("killed writers of settings: \(crashes) servers, \(tally.sorted { $0.key < $1.key })")
  }

  @Test func `many processes count in a setting together, and none of their counts is lost`() throws {
    let server = try DatabaseServer.shared
    let place = server.place()
    let (processes, each) = (Campaign.size(short: 8, long: 64), Campaign.size(short: 25, long: 500))
    let tools = try (0..<processes).map { _ in try PostgresTool("settings-count", place, "\(each)") }
    for tool in tools { #expect(try tool.finish() == ["done \(each)"]) }
    let store = try PostgresDefaults.open(domain: "app", at: VaultPlace(place))
    #expect(try store.load("count") == .integer(Int64(processes * each)))
  }
}
