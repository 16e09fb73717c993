import CofferPlatform
import CofferVault
import Testing

@testable import CofferPostgres

@Suite struct PostgresPlaceTests {
  @Test func `the name is cut off, and what is libpq's is left to it`() throws {
    let place = try PostgresPlace(
      "postgresql://ada@db1,db2:5433/team?sslmode=verify-full&coffer_timeout=3&coffer_allow_async=1#main_2")
    #expect(place.connection == "postgresql://ada@db1,db2:5433/team?sslmode=verify-full" && place.schema == "coffer_main_2")
    #expect(place.patience == .seconds(3) && place.allowsAsynchronousCommit)
    let plain = try PostgresPlace("postgres://db")
    #expect(plain.connection == "postgres://db" && plain.name == "main" && plain.patience == .seconds(15))
    #expect(!plain.allowsAsynchronousCommit)
    #expect(try PostgresPlace("postgresql:///team?coffer_timeout=1").connection == "postgresql:///team")
  }

  @Test(arguments: [
    "postgresql://ada:hunter2@db/team", "postgresql://db/team?password=hunter2", "postgresql://db/team?a=b&pass%77ord=hunter2#x",
    "postgresql://db/team?sslpassword=hunter2", "postgresql://ada:hunter2@db",
  ])
  func `a password is refused, and repeated nowhere`(url: String) {
    let error = #expect(throws: StoreError.self) { try PostgresPlace(url) }
    #expect(error?.kind == .invalidName && error.map { "\($0)" }?.contains("hunter2") == false)
    PostgresVaults.use()
    #expect(VaultPlace(url).description == "postgresql://…")
    let opening = #expect(throws: StoreError.self) { try LockedVault.open(VaultPlace(url), options: .withoutPins) }
    #expect(opening?.kind == .invalidName && opening.map { "\($0)" }?.contains("hunter2") == false)
  }

  @Test(arguments: [
    "postgresql://db/team#", "postgresql://db/team#Main", "postgresql://db/team#a-b", "postgresql://db#a;drop",
    "postgresql://db/#" + String(repeating: "a", count: 51), "mysql://db", "postgresql://db?coffer_timeout=0",
    "postgresql://db?coffer_timeout=x", "postgresql://db?coffer_allow_async=yes", "postgresql:/db",
  ])
  func `what is no place is refused`(url: String) {
    #expect(throws: StoreError.self) { try PostgresPlace(url) }
  }

  @Test(arguments: [
    ("FATAL:  password authentication failed for user \"ada\"", StoreError.Kind.denied),
    ("FATAL:  sorry, too many clients already", .busy), ("FATAL:  the database system is starting up", .unreachable),
    ("connection failed: fe_sendauth: no password supplied", .denied), ("SSL error: certificate verify failed", .denied),
    ("invalid URI query parameter: \"no\"", .invalidName), ("definition of service \"team\" not found", .invalidName),
    ("FATAL:  remaining connection slots are reserved for roles with the SUPERUSER attribute", .busy),
    ("FATAL:  terminating connection due to administrator command", .unreachable),
    ("SSL SYSCALL error: EOF detected", .unreachable), ("SSL SYSCALL error: Connection reset by peer", .unreachable),
    ("SSL error: certificate verify failed", .denied), ("server does not support SSL, but SSL was required", .denied),
    ("could not translate host name \"db\" to address", .unreachable),
  ])
  func `what libpq says of a server that it does not get into is told apart`(text: String, kind: StoreError.Kind) {
    #expect(Unreached.decision(text).kind == kind)
  }

  @Test func `a misspelled option of the place is an error without the words that libpq quotes`() {
    PostgresVaults.use()
    let place = VaultPlace("postgresql:///team?sslmod=hunter2")
    let error = #expect(throws: StoreError.self) { try LockedVault.open(place, options: .withoutPins) }
    #expect(error?.kind == .invalidName && error?.what.hasSuffix(": invalid URI query parameter") == true, "\(error?.what ?? "")")
  }

  @Test func `several hosts are reached one by one, and lists that do not match are left to libpq`() {
    let two = PlaceParameters(["host": "a,b", "hostaddr": "10.0.0.1,10.0.0.2", "port": "5433"]).alone
    #expect(two.map { $0.map(\.1) } == [["a", "10.0.0.1", "5433"], ["b", "10.0.0.2", "5433"]])
    for unmatched in [["host": "a,b,c", "port": "1,2"], ["host": "a,b", "hostaddr": "10.0.0.1"], ["host": "a"], [:]] {
      #expect(PlaceParameters(unmatched).alone.isEmpty)
    }
  }

  @Test func `a place is known by each of its hosts, and by nothing that leads to the same rows`() throws {
    let one = PlaceNames(
      PlaceParameters(["host": "DB.example.com.", "port": "5432", "dbname": "team", "user": "ada"]), host: "", name: "main")
    let same = PlaceNames(
      PlaceParameters(["host": "db.example.com", "hostaddr": "10.0.0.1", "dbname": "team"]), host: "", name: "main")
    #expect(one.all.count == 1 && one.all == same.all)
    let both = PlaceNames(
      PlaceParameters(["host": "db.example.com,db2", "port": "5432,5433", "dbname": "team"]), host: "", name: "main")
    #expect(both.all.count == 2 && both.all[0] == one.all[0])
    for other in [
      PlaceNames(PlaceParameters(["host": "db.example.com", "port": "5433", "dbname": "team"]), host: "", name: "main"),
      PlaceNames(PlaceParameters(["host": "db.example.com", "dbname": "team2"]), host: "", name: "main"),
      PlaceNames(PlaceParameters(["host": "db.example.com", "dbname": "team"]), host: "", name: "main2"),
    ] {
      #expect(other.all.count == 1 && other.all != one.all)
    }
    #expect(
      PlaceNames(PlaceParameters(["dbname": "d"]), host: "/tmp/../tmp", name: "m").all
        == PlaceNames(PlaceParameters(["host": "/tmp", "dbname": "d"]), host: "", name: "m").all)
    let bytes = "pg\0".utf8 + [4, 0, 0, 0] + "/tmp".utf8 + [0x38, 0x15, 1, 0, 0, 0] + "d".utf8 + [1, 0, 0, 0] + "m".utf8
    #expect(PlaceNames(PlaceParameters(["host": "/tmp", "dbname": "d"]), host: "", name: "m").all == [Array(bytes)])
  }
}
