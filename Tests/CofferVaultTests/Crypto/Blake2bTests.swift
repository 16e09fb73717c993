import CofferMemory
import Foundation
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

@Suite struct Blake2bTests {
  struct Plain: Decodable { let message, hash: HexBytes }
  struct Keyed: Decodable { let key, message, hash: HexBytes }
  struct Salted: Decodable {
    let key, salt, personal, message: HexBytes
    let length: Int
    let hash: HexBytes
  }
  struct File: Decodable {
    let plain, digest32: [Plain]
    let keyed: [Keyed]
    let salted: [Salted]
  }

  static func hash(_ key: HexBytes?, _ label: Label, _ salt: SlotSalt, _ message: HexBytes, _ count: Int) -> [UInt8] {
    var out = [UInt8](repeating: 0, count: count)
    out.withUnsafeMutableBytes { out in
      (key?.bytes ?? []).withUnsafeBytes { key in
        KeyedHash.compute(key, label, salt: salt, into: out) { hash in
          // In two pieces, as messages are fed.
          let half = message.bytes.count / 3
          message.with { message in
            hash.update(message.part(0..<half))
            hash.update(message.part(half..<message.count))
          }
        }
      }
    }
    return out
  }

  static func check(_ vector: Salted) throws {
    let label = try #require(vector.personal.with { Label($0) })
    let salt = try #require(SlotSalt(vector.salt.bytes))
    #expect(hash(vector.key, label, salt, vector.message, vector.length) == vector.hash.bytes)
  }

  @Test func `agrees with RFC 7693, appendix A`() throws {
    for vector in try Vectors.fixture("blake2b.json", as: File.self).plain {
      #expect(Self.hash(nil, Label(""), .zero, vector.message, 64) == vector.hash.bytes)
    }
  }

  @Test func `H is BLAKE2b with 32 bytes out`() throws {
    for vector in try Vectors.fixture("blake2b.json", as: File.self).digest32 {
      #expect(PlainHash.digest(vector.message.bytes).bytes == vector.hash.bytes)
      #expect(try vector.message.with { try PlainHash.secretDigest($0).revealed } == vector.hash.bytes)
    }
  }

  @Test func `agrees with keyed vectors around the block size`() throws {
    for vector in try Vectors.fixture("blake2b.json", as: File.self).keyed {
      #expect(Self.hash(vector.key, Label(""), .zero, vector.message, 64) == vector.hash.bytes)
    }
  }

  @Test func `agrees with another implementation under key, salt and personalisation`() throws {
    for vector in try Vectors.fixture("blake2b.json", as: File.self).salted { try Self.check(vector) }
  }

  @Test func `refuses no length the format uses, and gives each its own hash`() {
    let key: HexBytes = "000102030405060708090a0b0c0d0e0f"
    let long = Self.hash(key, Label("PV1 rid"), .zero, "00", 32)
    #expect(Self.hash(key, Label("PV1 rid"), .zero, "00", 16) != Array(long.prefix(16)))
  }

  @Test(.enabled(if: Vectors.hasShared, Vectors.missing))
  func `agrees with all 256 keyed vectors of the BLAKE2 repository`() throws {
    let text = try String(contentsOf: Vectors.shared.appending(path: "blake2b-keyed-kat.txt"), encoding: .utf8)
    let fields = text.split(separator: "\n").map { line in
      HexBytes(stringLiteral: String(line.drop { $0 != "\t" }.dropFirst()))
    }
    #expect(fields.count == 3 * 256)
    for start in stride(from: 0, to: fields.count, by: 3) {
      #expect(Self.hash(fields[start + 1], Label(""), .zero, fields[start], 64) == fields[start + 2].bytes)
    }
  }

  @Test(.enabled(if: Vectors.hasShared, Vectors.missing))
  func `agrees with all 200 salted vectors of the oracle`() throws {
    struct Oracle: Decodable { let blake2b: [Salted] }
    let vectors = try Vectors.large("oracle.json", as: Oracle.self).blake2b
    #expect(vectors.count == 200)
    for vector in vectors { try Self.check(vector) }
  }
}
