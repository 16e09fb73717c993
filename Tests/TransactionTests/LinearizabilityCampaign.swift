import CofferMemory
import CofferPostgres
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import Testing

/// Processes read and write both stores at once, directly, through an agent and on a server, and some are killed, as is the
/// server. All operations fit one order, in which each has one moment, also a transaction over both stores.
///
/// `COFFER_HISTORIES` names a folder for the records.
@Suite(.serialized, .tags(.campaign, .kill, .process), .wholeRun)
struct LinearizabilityCampaign {
  private enum Stores {
    case files
    case agent
    case server(DatabaseServer)
  }

  /// Both stores of a home, which the other processes open too.
  private static func stores(_ home: Home) throws -> (plain: any LayeredStore, vault: VaultStore) {
    let key = try Data(contentsOf: URL(fileURLWithPath: home.keyFile)).bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
    let vault = try LockedVault.open(home.place, options: .withoutPins).unlock(with: Credentials(keyFile: key))
    return (try PostgresDefaults.open(domain: "app", at: home.place), try VaultStore(service: "app", vault: vault))
  }

  private static func begin(_ home: Home) throws {
    guard home.place.url == nil else {
      let (plain, vault) = try stores(home)
      try plain.save(.string("v0"), for: "theme")
      let old = Data("v0".utf8)
      return try vault.save(SecretForm(old.bytes.withUnsafeBytes { try SecretBytes(copying: $0) }), for: "token")
    }
    guard try home.run("transact", home.path, home.keyFile, "v0").status == 0 else { throw Peer.Failed(what: "no old values") }
  }

  private static func end(_ home: Home) throws -> (token: String, theme: String) {
    guard home.place.url == nil else {
      let (plain, vault) = try stores(home)
      guard case .string(let theme)? = try plain.load("theme"), let token = try vault.load("token") else {
        throw Peer.Failed(what: "the old values are gone")
      }
      return (token.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }, theme)
    }
    let found = try Peer(home, ["serve", home.path, home.keyFile]).ask("read")?.split(separator: " ").map(String.init) ?? []
    guard found.count == 3 else { throw Peer.Failed(what: "the stores cannot be read: \(found)") }
    return (found[0], found[1])
  }

  /// Three recording processes, restarted when they die, until `count` operations were answered.
  private static func record(_ count: Int, _ stores: Stores, _ random: inout Random) throws -> (record: String, kills: Int) {
    let server: DatabaseServer? = if case .server(let server) = stores { server } else { nil }
    let overAgent = if case .agent = stores { true } else { false }
    let home = try Home(on: server?.place())
    try begin(home)
    let agent = overAgent ? try Peer(home, ["agent", home.path, home.keyFile]) : nil
    defer { agent?.kill() }
    let file = home.path + "/record"
    var peers: [Peer] = [], kills = 0
    func operations() -> Int {
      guard let text = try? String(contentsOfFile: file, encoding: .utf8) else { return 0 }
      return text.split(separator: "\n").count { $0.contains(" ok ") }
    }
    func start() throws {
      // Every second one uses the agent, if any; the others open the vault.
      let isClient = overAgent && (peers.count + kills).isMultiple(of: 2)
      peers.append(
        try Peer(
          home,
          ["record", home.path, home.keyFile, file, "\(UInt64.random(in: 0 ... .max, using: &random))", "1000000"]
            + (isClient ? ["60000"] : [])))
    }
    while peers.count < 3 { try start() }
    while operations() < count {
      // Only after some operations: kills faster than a program's start would leave nothing to record.
      let next = operations() + .random(in: 1...6, using: &random)
      eventually("operations are answered") { operations() >= next }
      // All of its processes, as in a power failure.
      if let server, Int.random(in: 0..<4, using: &random) == 0 { try server.crash() }
      peers.remove(at: .random(in: 0..<3, using: &random)).kill()
      kills += 1
      try start()
    }
    for peer in peers { peer.kill() }
    let found = try end(home)
    let record = try String(contentsOfFile: file, encoding: .utf8)
    let begin = "0 0 call w:theme=v0 w:token=v0 .\n1 0 ok w:theme=v0 w:token=v0 .\n"
    let end = "\(UInt64.max - 1) 0 call r:theme= r:token= .\n\(UInt64.max) 0 ok r:theme=\(found.theme) r:token=\(found.token) .\n"
    return (begin + record + end, kills + peers.count)
  }

  private static func judge(_ histories: Int, of count: Int, _ what: String, _ stores: (Int) -> Stores) throws {
    var random = Random(campaign: "histories of \(what)")
    let folder = ProcessInfo.processInfo.environment["COFFER_HISTORIES"]
    var (operations, pending, kills) = (0, 0, 0)
    for number in 0..<histories {
      let (record, killed) = try record(count, stores(number), &random)
      if let folder { try record.write(toFile: "\(folder)/\(what) \(number).history", atomically: true, encoding: .utf8) }
      let history = try RecordedOperation.operations(in: record)
      let failures = Linearizability.failures(in: history)
      #expect(failures == [], "history \(number): no order of the operations on \(failures):\n\(record)")
      operations += history.count
      pending += history.count { $0.answer == nil }
      kills += killed
    }
    print("histories of \(what): \(histories), \(operations) operations, \(pending) without an answer, \(kills) kills")
    #expect(operations >= histories * count)
    #expect(kills > 0)
  }

  @Test func `there is an order of all that processes did`() throws {
    try Self.judge(Campaign.size(short: 2, long: 200), of: Campaign.size(short: 60, long: 1_000), "both stores") { number in
      number.isMultiple(of: 2) ? .files : .agent
    }
  }

  @Test func `there is an order of all that processes did on a server`() throws {
    let server = try DatabaseServer.make()
    try Self.judge(Campaign.size(short: 1, long: 100), of: Campaign.size(short: 60, long: 1_000), "a server") { _ in
      .server(server)
    }
  }
}
