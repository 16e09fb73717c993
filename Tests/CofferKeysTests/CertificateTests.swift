import CofferMemory
import CofferPlatform
import CofferTestSupport
import Testing

@testable import CofferKeys

@Suite struct CertificateTests {
  private static func certificate(_ name: String) throws -> SSHCertificate {
    try SSHCertificate(line: KeyFixture.line(name))
  }

  @Test(arguments: ["ecdsa_1", "ed25519_1"]) func `OpenSSH's host certificates are read`(name: String) throws {
    let certificate = try Self.certificate("sshkey/\(name)-cert.pub")
    #expect(certificate.key == (try KeyFixture.publicKey("sshkey/\(name).pub")))
    #expect(certificate.authority == certificate.key && certificate.kind == .host)
    #expect(certificate.principals == ["host1", "host2"] && certificate.criticalOptions.isEmpty)
    #expect(
      try certificate.line(comment: KeyFixture.comment(KeyFixture.line("sshkey/\(name)-cert.pub")))
        == KeyFixture.line("sshkey/\(name)-cert.pub"))
  }

  @Test func `a host's certificate proves its names, from its first second to the one before its last, by its authority alone`()
    throws
  {
    let certificate = try Self.certificate("sshkey/ed25519_1-cert.pub")
    let authority = [certificate.authority]
    func proves(_ host: String, _ seconds: UInt64, _ authorities: [SSHPublicKey]) -> Bool {
      certificate.proves(host: host, at: seconds, authorities: authorities)
    }
    let (first, end) = (certificate.validAfter, certificate.validBefore)
    #expect(proves("host1", first, authority) && proves("HOST2", end - 1, authority))
    #expect(!proves("host1", first - 1, authority) && !proves("host1", end, authority))
    for host in ["host", "host11", "", "host3"] { #expect(!proves(host, first, authority)) }
    #expect(!proves("host1", first, [try KeyFixture.publicKey("own/p256.pub")]) && !proves("host1", first, []))
  }

  @Test func `patterns in a host's certificate match as OpenSSH's do`() throws {
    let certificate = try Self.certificate("own/p384-cert.pub")
    #expect(certificate.authority == (try KeyFixture.publicKey("own/rsa.pub")))
    for (host, isProven) in [
      ("a.example.com", true), ("a.b.example.com", true), (".example.com", true), ("example.com", false), ("node1", true),
      ("node", false), ("node12", false), ("a.example.com.evil", false), ("*.example.com", true),
    ] {
      #expect(
        certificate.proves(host: host, at: certificate.validAfter, authorities: [certificate.authority]) == isProven, "\(host)")
    }
  }

  @Test func `a user's certificate, or one with a critical option, proves no host`() throws {
    let user = try Self.certificate("own/rsa-cert.pub")
    #expect(user.kind == .user && user.principals == ["me"] && user.criticalOptions == ["force-command"])
    #expect(!user.proves(host: "me", at: user.validAfter, authorities: [user.authority]))
    let unknown = try Self.certificate("authopt/unknown_critical.cert")
    #expect(unknown.criticalOptions == ["blah"])
    let host = try Self.certificate("authopt/host.cert")
    #expect(host.proves(host: "user", at: host.validAfter, authorities: [host.authority]))
  }

  @Test(arguments: ["sshkey/rsa_1-cert.pub", "sshkey/ecdsa_sk1-cert.pub", "sshkey/ed25519_sk1-cert.pub", "sshkey/ed25519_1.pub"])
  func `certificates of unused keys, and keys without one, are refused as unsupported`(name: String) throws {
    try expect(.unsupported) { _ = try Self.certificate(name) }
  }

  @Test func `a certificate signed with SHA-1 is refused`() throws {
    try expect(.undecodable(stored: "malformed bytes")) { _ = try Self.certificate("own/p256-cert.pub") }
  }

  @Test(.tags(.campaign), .wholeRun, arguments: ["own/ed25519-cert.pub", "own/p384-cert.pub", "own/rsa-cert.pub"])
  func `a certificate with any bit changed, or cut short, is refused`(name: String) throws {
    let blob = try KeyFixture.blob(name)
    #expect(try SSHCertificate(blob: blob).blob == blob)
    for bit in Campaign.cases(blob.count * 8, short: 300) {
      #expect(throws: StoreError.self) { try SSHCertificate(blob: blob.flipped(bit)) }
    }
    for count in Campaign.cases(blob.count, short: 100) {
      #expect(throws: StoreError.self) { try SSHCertificate(blob: Array(blob.prefix(count))) }
    }
    #expect(throws: StoreError.self) { try SSHCertificate(blob: blob + [0]) }
  }
}
