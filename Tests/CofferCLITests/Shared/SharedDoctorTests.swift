import CofferTestSupport
import Foundation
import Testing

@Suite(.tags(.process), .wholeRun)
struct SharedDoctorTests {
  private func findings(_ home: Home) throws -> [String] {
    let answer = try home.coffer("doctor --json")
    let json = try #require(JSONSerialization.jsonObject(with: answer.bytes) as? [String: Any])
    let found = try #require(json["findings"] as? [[String: Any]])
    #expect((json["checks"] as? [String])?.contains("server") == true)
    return found.filter { $0["check"] as? String == "server" }.map { "\($0["severity"] ?? "") \($0["what"] ?? "")" }
  }

  @Test
  func
    `a writer's role over a socket has nothing to find; a superuser, a reader, copies and a password in the environment are told`()
    throws
  {
    let home = try Home.withSharedVault()
    let server = try DatabaseServer.shared
    try home.transcript("vault set a", in: "1")
    let superuser = home.place
    #expect(try findings(home).allSatisfy { $0.hasPrefix("warning the role is a superuser of the server") })
    #expect(try findings(home).count == 1)
    let (writer, reader) = (home.schema + "_w", home.schema + "_r")
    try server.sql("CREATE ROLE \(writer) LOGIN; CREATE ROLE \(reader) LOGIN")
    try home.transcript("vault grant \(writer)=writer \(reader)=reader --quiet")
    home.environment["COFFER_VAULT"] = superuser.replacing("coffer@", with: "\(writer)@")
    #expect(try findings(home) == [])
    try home.transcript("vault set a", in: "2")
    home.environment["COFFER_VAULT"] = superuser.replacing("coffer@", with: "\(reader)@")
    #expect(try findings(home) == ["note the role can only read"])
    try server.sql("GRANT INSERT ON \(home.schema).log TO \(reader)")
    let some = "problem the role may write to some of the vault's tables and not to all, so the vault is not written"
    #expect(try findings(home) == [some])
    try server.sql("REVOKE INSERT ON \(home.schema).log FROM \(reader); GRANT SELECT ON \(home.schema).rec TO PUBLIC")
    #expect(try findings(home).contains("warning every role of the database may use tables of the vault"))
    try server.sql("REVOKE SELECT ON \(home.schema).rec FROM PUBLIC")
    try server.sql(
      """
      CREATE FUNCTION \(home.schema).see() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
      CREATE TRIGGER see BEFORE UPDATE ON \(home.schema).rec FOR EACH ROW EXECUTE FUNCTION \(home.schema).see();
      CREATE RULE hide AS ON DELETE TO \(home.schema).log DO INSTEAD NOTHING;
      ALTER TABLE \(home.schema).decided ENABLE ROW LEVEL SECURITY
      """)
    let rules = "warning the vault's tables have triggers, rules or row policies that Coffer did not make (3)"
    #expect(try findings(home).contains { $0.hasPrefix(rules) })
    try server.sql(
      """
      DROP TRIGGER see ON \(home.schema).rec; DROP RULE hide ON \(home.schema).log;
      ALTER TABLE \(home.schema).decided DISABLE ROW LEVEL SECURITY;
      ALTER ROLE \(reader) SET default_transaction_read_only = on
      """)
    let readOnly = "warning the server makes each transaction of this role read-only, so the vault is not written"
    #expect(try findings(home) == [readOnly])
    try server.sql("ALTER ROLE \(reader) RESET default_transaction_read_only")
    try home.transcript("vault get a", out: "2")
    try home.transcript("vault set a", in: "3", err: "ask the server's administrator for the role of a writer", exit: 74)
    home.environment["COFFER_VAULT"] = superuser
    try home.transcript("backup --quiet \(home.path)/copy")
    #expect(try home.coffer("restore \(home.path)/copy").status == 0)
    #expect(try findings(home).contains { $0.hasPrefix("warning a copy of an earlier state") })
    let answer = try home.coffer("doctor", with: ["PGPASSWORD": "hunter2"])
    #expect(answer.out.contains("PGPASSWORD is in the environment") && !answer.out.contains("hunter2"))
    #expect(answer.out.contains("DROP SCHEMA \(home.schema.prefix(36))_before_"))
  }

  @Test(.tags(.root))
  func `a machine that cannot write its pins reads, compares, and says so`() throws {
    let home = try Home.withSharedVault()
    let other = try home.otherMachine()
    let server = try DatabaseServer.shared
    let disk = try home.smallDisk("400k")
    home.environment["COFFER_HOME"] = disk.path
    let tables = ["decided", "digest", "header", "header_copy", "log", "old", "rec", "state"]
    try other.transcript("vault set a --quiet", in: "1")
    try server.sql(
      "CREATE SCHEMA \(home.schema)_x;"
        + tables.map { "CREATE TABLE \(home.schema)_x.\($0) AS SELECT * FROM \(home.schema).\($0);" }.joined())
    try other.transcript("vault set a --quiet", in: "2")
    try home.transcript("vault get a --quiet", out: "2")
    #expect(try !home.coffer("doctor").out.contains("the pins cannot be written"))
    try #require(mount(nil, disk.path, nil, UInt(MS_REMOUNT | MS_RDONLY), nil) == 0)
    try other.transcript("vault set a --quiet", in: "3")
    let read = try home.coffer("vault get a")
    #expect(read.status == 0 && read.out == "3" && read.err.split(separator: "\n").count == 1, "\(read)")
    #expect(read.err.hasPrefix("coffer: note: the vault is fine, but its rollback pin could not be written"), "\(read.err)")
    #expect(try home.coffer("doctor").out.contains("warning  pins: the pins cannot be written"))
    try server.sql(
      tables.map {
        "DELETE FROM \(home.schema).\($0); INSERT INTO \(home.schema).\($0) SELECT * FROM \(home.schema)_x.\($0);"
      }.joined())
    #expect(try home.coffer("vault get a").status == 66, "what it knew of before is still compared")
  }

  @Test
  func `TLS without a proof of the host is told, with one it is not, and a host that proves nothing is not spoken to`() throws {
    let server = try DatabaseServer.make(settings: ["listen_addresses=127.0.0.1"])
    let home = try Home.withSharedVault(server)
    let certificate = try server.useTLS()
    let place = home.place.replacing(server.folder.replacing("/", with: "%2F") + ":", with: "127.0.0.1:")
    home.environment["COFFER_VAULT"] = place.replacing("#", with: "?sslmode=require#")
    #expect(try findings(home).contains { $0.hasPrefix("warning the server's host is not verified") })
    let proven = "?sslmode=verify-full&sslrootcert=\(certificate.replacing("/", with: "%2F"))#"
    home.environment["COFFER_VAULT"] = place.replacing("#", with: proven)
    let told = try findings(home)
    #expect(!told.contains { $0.contains("host") || $0.contains("encrypted") }, "\(told)")
    let other = try home.file("other.crt", Self.otherCertificate())
    home.environment["COFFER_VAULT"] = place.replacing(
      "#", with: "?sslmode=verify-full&sslrootcert=\(other.replacing("/", with: "%2F"))#")
    try home.transcript("vault list", err: "the server cannot be trusted", exit: 77)
  }

  /// A certificate that did not sign the server's.
  private static func otherCertificate() throws -> String {
    let answer = try Home().program([
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
      "/CN=other", "-keyout", "/dev/null",
    ])
    return try #require(answer).out
  }

  @Test
  func `commits that are acknowledged early, standbys that none is waited for, and a wire without encryption are told`() throws {
    let server = try DatabaseServer.make(settings: ["listen_addresses=127.0.0.1", "wal_level=logical"])
    let home = try Home.withSharedVault(server)
    let place = home.place
    home.environment["COFFER_VAULT"] = place.replacing("#", with: "?options=-csynchronous_commit%3Doff#")
    #expect(try findings(home).contains { $0.hasPrefix("problem the server acknowledges commits before") })
    home.environment["COFFER_VAULT"] = place.replacing("#", with: "?options=-csynchronous_commit%3Doff&coffer_allow_async=1#")
    #expect(try findings(home).contains { $0.hasPrefix("warning the server acknowledges commits before") })
    let host = server.folder.replacing("/", with: "%2F")
    home.environment["COFFER_VAULT"] = place.replacing("\(host):", with: "127.0.0.1:")
    #expect(try findings(home).contains { $0.hasPrefix("problem the connection is not encrypted") })
    home.environment["COFFER_VAULT"] = place
    #expect(try !findings(home).contains { $0.contains("standbys") })
    try server.withSubscriber {
      let told = try findings(home)
      #expect(!told.contains { $0.contains("standbys") })
    }
    try server.withStandby {
      let told = try findings(home)
      #expect(told.contains { $0.hasPrefix("warning the server does not wait for its standbys") })
    }
  }
}
