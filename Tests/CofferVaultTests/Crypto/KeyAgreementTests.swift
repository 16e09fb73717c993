import CofferTestSupport
import CofferMemory
import Foundation
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

@Suite struct KeyAgreementTests {
  struct File: Decodable {
    struct Function: Decodable { let scalar, u, out: HexBytes }
    struct Iterated: Decodable {
      let rounds: Int
      let out: HexBytes
    }
    struct Exchange: Decodable { let a, aPublic, b, bPublic, shared: HexBytes }
    let function: [Function]
    let iterated: [Iterated]
    let exchange: [Exchange]
  }

  static func shared(_ secret: [UInt8], _ publicKey: [UInt8]) throws -> [UInt8] {
    let point = try #require(PublicKey32(publicKey))
    return try secret.withUnsafeBytes { try KeyAgreement.withShared($0, point, part: "slot") { [UInt8]($0) } }
  }

  @Test func `agrees with RFC 7748, 5.2`() throws {
    let file = try Vectors.fixture("x25519.json", as: File.self)
    for one in file.function { #expect(try Self.shared(one.scalar.bytes, one.u.bytes) == one.out.bytes) }
    for one in file.iterated {
      var k = [9] + [UInt8](repeating: 0, count: 31)
      var u = k
      for _ in 0..<one.rounds { (k, u) = (try Self.shared(k, u), k) }
      #expect(k == one.out.bytes, "\(one.rounds) rounds")
    }
  }

  @Test func `agrees with RFC 7748, 6.1`() throws {
    for one in try Vectors.fixture("x25519.json", as: File.self).exchange {
      #expect(one.a.with { KeyAgreement.publicKey(of: $0) }.bytes == one.aPublic.bytes)
      #expect(one.b.with { KeyAgreement.publicKey(of: $0) }.bytes == one.bPublic.bytes)
      #expect(try Self.shared(one.a.bytes, one.bPublic.bytes) == one.shared.bytes)
      #expect(try Self.shared(one.b.bytes, one.aPublic.bytes) == one.shared.bytes)
    }
  }

  @Test(arguments: [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  ])
  func `refuses points of low order`(_ point: String) throws {
    #expect(throws: FormatError.self) {
      try Self.shared([UInt8](repeating: 0x42, count: 32), HexBytes(stringLiteral: point).bytes)
    }
  }

  @Test(.enabled(if: Vectors.hasShared, Vectors.missing))
  func `agrees with all 518 cases of Wycheproof`() throws {
    struct Wycheproof: Decodable {
      struct Group: Decodable { let tests: [Test] }
      struct Test: Decodable {
        let tcId: Int
        let `public`, `private`, shared: HexBytes
        let flags: [String]
      }
      let testGroups: [Group]
    }
    let tests = try Vectors.large("wycheproof-x25519_test.json", as: Wycheproof.self).testGroups.flatMap(\.tests)
    #expect(tests.count == 518)
    var refused = 0
    for test in tests {
      if test.flags.contains("ZeroSharedSecret") {
        refused += 1
        #expect(throws: FormatError.self, "case \(test.tcId)") { try Self.shared(test.private.bytes, test.public.bytes) }
      } else {
        #expect(try Self.shared(test.private.bytes, test.public.bytes) == test.shared.bytes, "case \(test.tcId)")
      }
    }
    #expect(refused > 30)
  }
}
