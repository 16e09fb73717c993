import CofferTestSupport
import CofferMemory
import Foundation
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

@Suite struct CommittedBoxTests {
  static let salt = SlotID.random()

  static func open(_ box: [UInt8], _ ikm: [UInt8], context: [UInt8] = [1, 2, 3]) throws -> [UInt8] {
    try ikm.withUnsafeBytes {
      try CommittedBox(bytes: box).open(under: $0, for: .own, salt: salt, context: context, part: "slot").revealed
    }
  }

  @Test func `opens to what was sealed, and differs each time`() throws {
    let ikm = [UInt8](repeating: 9, count: 32)
    for message: [UInt8] in [[], [5], [UInt8](repeating: 7, count: 100)] {
      let boxes = ikm.withUnsafeBytes { ikm in
        message.withUnsafeBytes { message in
          (0..<2).map { _ in CommittedBox.seal(message, under: ikm, for: .own, salt: Self.salt, context: [1, 2, 3]) }
        }
      }
      #expect(boxes[0] != boxes[1])
      for box in boxes {
        #expect(box.bytes.count == message.count + CommittedBox.overhead)
        #expect(try Self.open(box.bytes, ikm) == message)
      }
    }
  }

  @Test func `refuses every flipped bit, every truncation, other keys, contexts and purposes`() throws {
    let ikm = [UInt8](repeating: 9, count: 32)
    let box = ikm.withUnsafeBytes { CommittedBox.seal($0, under: $0, for: .own, salt: Self.salt, context: [1, 2, 3]).bytes }
    for bit in 0..<box.count * 8 {
      var flipped = box
      flipped[bit / 8] ^= 1 << (bit % 8)
      #expect(throws: FormatError.unauthentic("slot")) { try Self.open(flipped, ikm) }
    }
    for count in 0..<box.count {
      #expect(throws: FormatError.unauthentic("slot")) { try Self.open(Array(box.prefix(count)), ikm) }
    }
    #expect(throws: FormatError.self) { try Self.open(box, [UInt8](repeating: 8, count: 32)) }
    #expect(throws: FormatError.self) { try Self.open(box, ikm, context: [1, 2]) }
    #expect(throws: FormatError.self) {
      try ikm.withUnsafeBytes {
        try CommittedBox(bytes: box).open(under: $0, for: .seal, salt: Self.salt, context: [1, 2, 3], part: "slot").count
      }
    }
  }

  struct TwoKeys: Decodable {
    struct Side: Decodable { let ikm, key, commitment, message: HexBytes }
    let salt, context, nonce, box: HexBytes
    let first, second: Side
  }

  @Test func `refuses a ciphertext that opens under two keys, for one of them at least`() throws {
    let two = try Vectors.fixture("two-key-box.json", as: TwoKeys.self)
    let nonce = try #require(two.nonce.with { Nonce24($0) })
    let salt = try #require(SlotID(two.salt.bytes))
    // The AEAD alone is fooled: one box, two keys, two messages.
    #expect(two.first.message != two.second.message)
    for side in [two.first, two.second] {
      #expect(AEADTests.open(two.box.bytes, side.key, nonce, two.context) == side.message.bytes)
    }
    func open(_ commitment: HexBytes, _ ikm: HexBytes) throws -> [UInt8] {
      let box = CommittedBox(bytes: two.nonce.bytes + commitment.bytes + two.box.bytes)
      return try ikm.with { try box.open(under: $0, for: .seal, salt: salt, context: two.context.bytes, part: "slot").revealed }
    }
    // Each commitment accepts its own key and refuses the other's.
    #expect(two.first.commitment != two.second.commitment)
    #expect(try open(two.first.commitment, two.first.ikm) == two.first.message.bytes)
    #expect(try open(two.second.commitment, two.second.ikm) == two.second.message.bytes)
    #expect(throws: FormatError.unauthentic("slot")) { try open(two.first.commitment, two.second.ikm) }
    #expect(throws: FormatError.unauthentic("slot")) { try open(two.second.commitment, two.first.ikm) }
  }
}
