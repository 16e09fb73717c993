import CofferMemory
import Foundation
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

@Suite struct AEADTests {
  struct Case: Decodable { let key, nonce, ad, message, box: HexBytes }
  struct File: Decodable { let cases: [Case] }

  static func seal(_ one: Case) throws -> [UInt8] {
    let nonce = try #require(one.nonce.with { Nonce24($0) })
    var box = [UInt8](repeating: 0, count: one.message.bytes.count + AEAD.tagBytes)
    box.withUnsafeMutableBytes { box in
      one.key.with { key in
        one.ad.with { ad in one.message.with { AEAD.seal($0, key: key, nonce: nonce, ad: ad, into: box) } }
      }
    }
    return box
  }

  static func open(_ box: [UInt8], _ key: HexBytes, _ nonce: Nonce24, _ ad: HexBytes) -> [UInt8]? {
    guard box.count >= AEAD.tagBytes else { return nil }
    var message = [UInt8](repeating: 0, count: box.count - AEAD.tagBytes)
    let isOpen = message.withUnsafeMutableBytes { out in
      box.withUnsafeBytes { box in
        key.with { key in ad.with { AEAD.open(box, key: key, nonce: nonce, ad: $0, into: out) } }
      }
    }
    let isAuthentic = box.withUnsafeBytes { box in
      key.with { key in ad.with { AEAD.authenticates(box, key: key, nonce: nonce, ad: $0) } }
    }
    #expect(isOpen == isAuthentic, "verifying and opening agree")
    return isOpen ? message : nil
  }

  @Test func `agrees with draft-irtf-cfrg-xchacha, A.3.1`() throws {
    for one in try Vectors.fixture("xchacha20-poly1305.json", as: File.self).cases {
      let nonce = try #require(one.nonce.with { Nonce24($0) })
      #expect(try Self.seal(one) == one.box.bytes)
      #expect(Self.open(one.box.bytes, one.key, nonce, one.ad) == one.message.bytes)
    }
  }

  @Test func `refuses every flipped bit of box and associated data`() throws {
    let one = try #require(try Vectors.fixture("xchacha20-poly1305.json", as: File.self).cases.first)
    let nonce = try #require(one.nonce.with { Nonce24($0) })
    for bit in 0..<one.box.bytes.count * 8 {
      var box = one.box.bytes
      box[bit / 8] ^= 1 << (bit % 8)
      #expect(Self.open(box, one.key, nonce, one.ad) == nil)
    }
    #expect(Self.open(one.box.bytes, one.key, nonce, "") == nil)
    #expect(Self.open(one.box.bytes, one.key, .zero, one.ad) == nil)
    #expect(!AEAD.authenticates(.noBytes, key: UnsafeRawBufferPointer(start: nil, count: 0), nonce: nonce))
  }

  struct Wycheproof: Decodable {
    struct Group: Decodable { let tests: [Test] }
    struct Test: Decodable {
      let tcId: Int
      let key, iv, aad, msg, ct, tag: HexBytes
      let result: String
    }
    let testGroups: [Group]
  }

  @Test(.enabled(if: Vectors.hasShared, Vectors.missing))
  func `agrees with all 315 cases of Wycheproof`() throws {
    let tests = try Vectors.large("wycheproof-xchacha20_poly1305_test.json", as: Wycheproof.self).testGroups.flatMap(\.tests)
    #expect(tests.count == 315)
    #expect(tests.count { $0.result == "invalid" } == 69)
    for test in tests {
      // A nonce of another length is not a nonce.
      guard let nonce = test.iv.with({ Nonce24($0) }) else {
        #expect(test.result == "invalid", "case \(test.tcId)")
        continue
      }
      let opened = Self.open(test.ct.bytes + test.tag.bytes, test.key, nonce, test.aad)
      #expect(opened == (test.result == "valid" ? test.msg.bytes : nil), "case \(test.tcId)")
    }
  }
}
