import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import Testing

@testable import CofferPostgres

@Suite(.tags(.process), .wholeRun) struct ServerConnectionTests {
  @Test func `a host that takes a connection and says nothing does not keep a place from the next one`() throws {
    let server = try DatabaseServer.shared
    let silent = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(silent) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(silent, $0, size) == 0 && listen(silent, 8) == 0 && getsockname(silent, $0, &size) == 0
      }
    }
    try #require(isListening)
    let port = UInt16(bigEndian: address.sin_port)
    let shared = try SharedVault(on: server)
    try shared.create().set(form("1"), for: name("a"))
    let folder = server.folder.replacingOccurrences(of: "/", with: "%2F")
    let place = VaultPlace(
      "postgresql://coffer@/postgres?host=127.0.0.1,\(folder)&port=\(port),\(server.port)"
        + "&target_session_attrs=read-write&coffer_timeout=2#\(shared.url.drop { $0 != "#" }.dropFirst())")
    let vault = try LockedVault.open(place, options: shared.pins).unlock(with: shared.credentials())
    #expect(try text(vault.get(name("a"))) == "1")
    let pins = try FileManager.default.contentsOfDirectory(atPath: shared.folder.path.appending("pins").string)
    #expect(pins.count { $0.hasPrefix("at-") } == 2, "each host that the place names is pinned")
  }

  @Test func `a write that was refused leaves its connection as it was`() throws {
    let server = try DatabaseServer.shared
    let shared = try SharedVault(on: server)
    let vault = try shared.create()
    try vault.set(form("1"), for: name("a"))
    func backends() throws -> String {
      // Its last statement names the vault once nothing is new.
      for _ in 0..<2 { _ = try vault.get(name("a")) }
      return try server.sql(
        "SELECT pid, state FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND query LIKE '%\(shared.schema)%'")
    }
    let before = try backends()
    for _ in 0..<5 { #expect(kind { try vault.set(form("2"), for: name("a"), if: .revision(7)) } == .conflict) }
    let after = try backends()
    #expect(after == before && after.contains("idle"), "\(before), then \(after)")
    #expect(try text(vault.get(name("a"))) == "1")
  }

  @Test func `a count of settings that cannot be is damage, and ends no program`() throws {
    let server = try DatabaseServer.shared
    let shared = try SharedVault(on: server)
    let settings = try PostgresDefaults.open(domain: "app", at: shared.place)
    try settings.save(.integer(1), for: "a")
    for column in ["version", "weight", "names"] {
      for value in ["9223372036854775807", "-9223372036854775808", "-1"] {
        try server.sql("UPDATE \(shared.schema).plain_domain SET \(column) = \(value)")
        #expect(kind { try settings.save(.integer(2), for: "b") } == .damaged, "\(column) \(value)")
      }
      try server.sql("UPDATE \(shared.schema).plain_domain SET version = 1, weight = 10, names = 1")
    }
    try settings.save(.integer(3), for: "a")
    #expect(try settings.load("a") == .integer(3))
  }

  @Test func `a log that goes on behind its end is refused where that begins`() throws {
    let server = try DatabaseServer.shared
    let shared = try SharedVault(on: server)
    let vault = try shared.create()
    try vault.set(form("1"), for: name("a"))
    try server.sql(
      "INSERT INTO \(shared.schema).log SELECT n + (SELECT max(seq) FROM \(shared.schema).log), box FROM "
        + "(SELECT box FROM \(shared.schema).log ORDER BY seq DESC LIMIT 1) l, generate_series(1, 1000) n")
    #expect(kind { _ = try vault.verify() } == .tampered)
    #expect(kind { _ = try vault.log() } == .tampered)
  }

  @Test func `who observes looks now and then too, whatever the server tells`() throws {
    let server = try DatabaseServer.shared
    let shared = try SharedVault(on: server)
    try shared.create()
    let looks = Collected<Int>()
    let watch = try PostgresWatch(
      PostgresPlace(shared.url), channel: "coffer_nobody_tells", away: nil, lookingEvery: .milliseconds(20)
    ) { looks.add(1) }
    let subscription = try watch.start()
    eventually("it looks again and again") { looks.all.count >= 3 }
    subscription.cancel()
  }
}
