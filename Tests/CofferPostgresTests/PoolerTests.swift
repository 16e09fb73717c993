import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import Testing

@testable import CofferPostgres

/// A vault behind a program that shares a server's connections among many clients.
@Suite(.tags(.process), .defaultRun) struct PoolerTests {
  private func place(_ shared: SharedVault, _ pooler: ConnectionPooler) -> VaultPlace {
    VaultPlace(shared.url.replacingOccurrences(of: ":\(shared.server.port)/", with: ":\(pooler.port)/"))
  }

  @Test(arguments: [[], ["server_round_robin = 1", "min_pool_size = 2"], ["default_pool_size = 1"]])
  func `one that hands each transaction another connection is refused, and nothing of ours stays for others`(
    settings: [String]
  ) throws {
    let server = try DatabaseServer.make()
    let shared = try SharedVault(on: server)
    try shared.create()
    let plain = try PostgresDefaults.open(domain: "app", at: shared.place)
    try plain.save(.integer(1), for: "a")
    let pooler = try ConnectionPooler(before: server, mode: "transaction", settings: settings)
    // The pool's connections are used before, as in a shared pool.
    let question =
      "SELECT current_setting('lock_timeout') || ' ' || current_setting('search_path') || ' ' || (SELECT count(*) FROM pg_prepared_statements)"
    #expect(try server.sql(question, through: pooler.port) == "0 \"$user\", public 0")
    #expect(kind { _ = try LockedVault.open(place(shared, pooler), options: .withoutPins) } == .unsupported)
    #expect(
      kind { _ = try UnlockedVault.create(at: place(shared, pooler), with: shared.credentials(), options: .withoutPins) }
        == .unsupported)
    #expect(kind { _ = try PostgresDefaults.open(domain: "app", at: place(shared, pooler)) } == .unsupported)
    for _ in 0..<4 { #expect(try server.sql(question, through: pooler.port) == "0 \"$user\", public 0") }
    withExtendedLifetime(pooler) {}
  }

  @Test func `one that keeps a connection for its client is taken, and gets it back as it was`() throws {
    let server = try DatabaseServer.make()
    let shared = try SharedVault(on: server)
    let pooler = try ConnectionPooler(before: server, mode: "session")
    do {
      let vault = try UnlockedVault.create(at: place(shared, pooler), with: shared.credentials(), options: .withoutPins)
      try vault.set(form("1"), for: name("a"))
      let other = try LockedVault.open(place(shared, pooler), options: .withoutPins).unlock(with: shared.credentials())
      #expect(try text(other.get(name("a"))) == "1")
      try other.set(form("2"), for: name("a"))
      #expect(try text(vault.get(name("a"))) == "2")
    }
    for _ in 0..<4 { #expect(try server.sql("SHOW lock_timeout", through: pooler.port) == "0") }
    withExtendedLifetime(pooler) {}
  }
}
