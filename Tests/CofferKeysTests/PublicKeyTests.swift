import CofferMemory
import CofferPlatform
import CofferTestSupport
import Foundation
import Testing

@testable import CofferKeys

@Suite struct PublicKeyTests {
  private static let names = ["sshkey/ecdsa_1", "sshkey/ecdsa_2", "sshkey/ed25519_1", "sshkey/ed25519_2", "sshkey/rsa_2"]

  @Test(arguments: names) func `OpenSSH's keys are read, and have the fingerprints that it states`(name: String) throws {
    let line = try KeyFixture.line("\(name).pub")
    let key = try SSHPublicKey(line: line)
    #expect(key.fingerprint == (try KeyFixture.line("\(name).fp")))
    #expect(key.line(comment: KeyFixture.comment(line)) == line)
  }

  @Test(arguments: [
    "sshkey/rsa_1.pub", "sshkey/ecdsa_sk1.pub", "sshkey/ed25519_sk1.pub", "sshkey/mldsa44_ed25519_1.pub",
    "sshkey/ed25519_1-cert.pub",
  ]) func `short RSA keys, keys of tokens, unknown types and certificates are refused as unsupported`(name: String) throws {
    try expect(.unsupported) { _ = try KeyFixture.publicKey(name) }
  }

  @Test(.tags(.campaign), .wholeRun, arguments: ["rsa", "ecdsa", "ed25519"])
  func `OpenSSH's signatures of files verify, and none with a changed bit does`(name: String) throws {
    let armored = try KeyFixture.text("sshsig/\(name).sig").split(separator: "\n")
    let whole = Array(try #require(Data(base64Encoded: armored.dropFirst().dropLast().joined())))
    let key = try KeyFixture.publicKey("sshsig/\(name).pub")
    let (signature, hash) = try whole.withBytes { (raw) throws(StoreError) in
      var reader = SSHReader(raw)
      _ = try reader.take(10)
      for _ in 0..<3 { _ = try reader.string() }
      let hash = try reader.text()
      return (Array(try reader.string()), hash)
    }
    #expect(hash == "sha512")
    let digest = try SecretDigest.sha512.hash(secret(KeyFixture.text("sshsig/signed-data")))
    let signed =
      try Array("SSHSIG".utf8)
      + wire { writer in
        for text in [try KeyFixture.text("sshsig/namespace"), "", hash] { try writer.put(text) }
        try digest.withUnsafeBytes { try writer.put($0) }
      }
    #expect(key.accepts(signature, of: signed))
    for bit in Campaign.cases(signature.count * 8, short: 300) { #expect(!key.accepts(signature.flipped(bit), of: signed)) }
    for count in Campaign.cases(signature.count, short: 100) { #expect(!key.accepts(Array(signature.prefix(count)), of: signed)) }
    #expect(!key.accepts(signature + [0], of: signed))
    #expect(!key.accepts(signature, of: signed + [0]))
    let purpose = signed.withBytes { SigningPurpose($0, by: key.blob) }
    #expect(try purpose == .file(namespace: KeyFixture.text("sshsig/namespace")))
  }

  @Test(.tags(.campaign), .wholeRun)
  func `an ECDSA key with a changed bit, and any key cut short, is refused`() throws {
    for name in KeyFixture.types {
      let blob = try KeyFixture.publicKey("\(name).pub").blob
      for count in 0..<blob.count { #expect(throws: StoreError.self) { try SSHPublicKey(blob: Array(blob.prefix(count))) } }
      #expect(throws: StoreError.self) { try SSHPublicKey(blob: blob + [0]) }
      guard name.hasPrefix("own/p") else { continue }
      for bit in Campaign.cases(blob.count * 8, short: 300) {
        #expect(throws: StoreError.self) { try SSHPublicKey(blob: blob.flipped(bit)) }
      }
    }
  }

  @Test func `RSA numbers out of range, longer than they need, or even are refused`() throws {
    func key(_ exponent: [UInt8], _ modulus: [UInt8]) throws -> SSHPublicKey {
      try SSHPublicKey(
        blob: wire {
          try $0.put("ssh-rsa")
          try $0.put(exponent)
          try $0.put(modulus)
        })
    }
    let modulus = [0, 0x80] + [UInt8](repeating: 1, count: 255)
    #expect(try key([3], modulus).type == .rsa)
    #expect(try key([3], [0, 0x80] + [UInt8](repeating: 1, count: 1023)).type == .rsa)
    for exponent: [UInt8] in [[], [0], [1], [2], [0, 3], [0x81], Array(repeating: 1, count: 9)] {
      try expect(.undecodable(stored: "malformed bytes")) { _ = try key(exponent, modulus) }
    }
    for modulus: [UInt8] in [modulus.dropLast() + [0], [0] + modulus, Array(modulus.dropFirst())] {
      try expect(.undecodable(stored: "malformed bytes")) { _ = try key([3], modulus) }
    }
    try expect(.unsupported) { _ = try key([3], [0x40] + modulus.dropFirst(2)) }
    let long = try expect(.unsupported) { _ = try key([3], [1] + [UInt8](repeating: 1, count: 1024)) }
    #expect(long.what == "the RSA key has 8193 bits, not 2048 to 8192")
    try expect(.undecodable(stored: "malformed bytes")) { _ = try key([3], [1] + [UInt8](repeating: 1, count: 2048)) }
  }

  @Test func `a point with a coordinate above the prime is refused, though it is on the curve modulo the prime`() throws {
    // With x = 5 there is a point on P-256. Source: the curve's equation.
    let prime = bytes("ffffffff00000001000000000000000000000000ffffffffffffffffffffffff")
    let y = bytes("459243b9aa581806fe913bce99817ade11ca503c64d9a3c533415c083248fbcc")
    func key(_ x: [UInt8]) throws -> SSHPublicKey {
      try SSHPublicKey(
        blob: wire { writer in
          for text in ["ecdsa-sha2-nistp256", "nistp256"] { try writer.put(text) }
          try writer.put([4] + x + y)
        })
    }
    let five = [UInt8](repeating: 0, count: 31) + [5]
    #expect(try key(five).type == .p256)
    #expect(throws: StoreError.self) { try key(prime.dropLast() + [0xFF]) }
    // The prime ends with 96 ones: 5 more carries into the 97th bit.
    let above = bytes("ffffffff00000001000000000000000000000001000000000000000000000004")
    #expect(throws: StoreError.self) { try key(above) }
  }
}
