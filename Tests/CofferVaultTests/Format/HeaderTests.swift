import CofferTestSupport
import CofferMemory
import CofferStorage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

@Suite struct HeaderTests {
  let sample: SampleVault
  init() throws { sample = try SampleVault() }

  @Test func `writes what it read, byte for byte`() throws {
    let bytes = sample.header.encoded()
    let again = try VaultHeader(decoding: bytes)
    #expect(again == sample.header)
    #expect(again.encoded() == bytes)
    #expect(Array(bytes.prefix(8)) == [0x50, 0x56, 0x41, 0x55, 0x4C, 0x54, 0, 1])
  }

  @Test func `its sealed part tells policy, labels and mix keys`() throws {
    let body = try sample.header.openBody(sample.keys, proving: [])
    #expect(body.created == 1 && body.rotated == 2 && body.floor == .standard)
    for (index, slot) in sample.header.slots.enumerated() {
      #expect(body.labels[index] == (slot.frame.kind == .keyFile ? "mine" : ""))
      #expect(body.withMix(index) { $0.allSatisfy { $0 == 0 } } == (slot.frame.kind == .recipient))
    }
  }

  @Test func `refuses every truncation and every longer one`() {
    let bytes = sample.header.encoded()
    for count in 0..<bytes.count {
      #expect(throws: FormatError.self) { try VaultHeader(decoding: Array(bytes.prefix(count))) }
    }
    #expect(throws: FormatError.self) { try VaultHeader(decoding: bytes + [0]) }
    #expect(throws: FormatError.self) { try VaultHeader(decoding: [UInt8](repeating: 0, count: VaultHeader.largest + 1)) }
  }

  @Test func `refuses every flipped bit as damage`() {
    for flipped in flips(sample.header.encoded()) {
      let error = #expect(throws: FormatError.self) { try VaultHeader(decoding: flipped) }
      #expect(error?.storeError().kind == .damaged)
    }
  }

  /// The header with a changed public part and a matching checksum, as a careful attacker makes it.
  static func edited(_ bytes: [UInt8], _ edit: (inout [UInt8]) -> Void) -> [UInt8] {
    var content = Array(bytes.dropLast(32))
    edit(&content)
    return content + PlainHash.digest(content).bytes
  }

  @Test func `refuses every flipped bit with a fitting checksum, when read or when its sealed part is opened`() {
    let bytes = sample.header.encoded()
    for bit in 0..<(bytes.count - 32) * 8 {
      let changed = Self.edited(bytes) { $0[bit / 8] ^= 1 << (bit % 8) }
      #expect(throws: FormatError.self, "bit \(bit)") {
        try VaultHeader(decoding: changed).openBody(sample.keys, proving: []).created
      }
    }
  }

  @Test func `trailing bytes with a fitting checksum are refused`() {
    let longer = Self.edited(sample.header.encoded()) { $0.append(0) }
    #expect(throws: FormatError.self) { try VaultHeader(decoding: longer) }
  }

  @Test func `a newer least reader is told as such, and another magic as damage`() {
    let bytes = sample.header.encoded()
    let newer = Self.edited(bytes) {
      $0[8] = 3
      $0[12] = 2
    }
    let error = #expect(throws: FormatError.self) { try VaultHeader(decoding: newer) }
    #expect(error == .newer(found: 2))
    #expect(error?.storeError().kind == .newerFormat(found: 2, supported: 1))
    let later = Self.edited(bytes) { $0[8] = 3 }  // A later version that this reader may still read.
    #expect((try? VaultHeader(decoding: later))?.format == 3)
    let zero = Self.edited(bytes) { $0[12] = 0 }
    #expect(throws: FormatError.self) { try VaultHeader(decoding: zero) }
    let other = Self.edited(bytes) { $0[0] = 0x51 }
    #expect(#expect(throws: FormatError.self) { try VaultHeader(decoding: other) }?.storeError().kind == .damaged)
  }

  @Test func `refuses slots out of order, twice, none, or of a combination that is not named`() throws {
    let bytes = sample.header.encoded()
    let slots = sample.header.slots
    let start = 8 + 4 + 4 + 16 + 8 + 2
    let first = slots[0].encodedCount
    let second = slots[1].encodedCount
    let swapped = Self.edited(bytes) { content in
      let a = Array(content[start..<start + first])
      let b = Array(content[start + first..<start + first + second])
      content.replaceSubrange(start..<start + first + second, with: b + a)
    }
    #expect(throws: FormatError.damaged("header", "its slots are not in order")) { try VaultHeader(decoding: swapped) }
    let twice = Self.edited(bytes) { content in
      content.insert(contentsOf: content[start..<start + first], at: start)
      content[start - 2] = 3
    }
    #expect(throws: FormatError.damaged("header", "its slots are not in order")) { try VaultHeader(decoding: twice) }
    for count: UInt8 in [0, 1, 3, 17, 255] {
      #expect(throws: FormatError.self) { try VaultHeader(decoding: Self.edited(bytes) { $0[start - 2] = count }) }
    }
    for (type, hash) in [(0, 0), (1, 0), (2, 0), (3, 2), (4, 2), (5, 2), (6, 0), (255, 255)] as [(UInt8, UInt8)] {
      let odd = Self.edited(bytes) {
        $0[start + 16] = type
        $0[start + 17] = hash
      }
      #expect(#expect(throws: FormatError.self) { try VaultHeader(decoding: odd) }?.storeError().kind == .damaged)
    }
  }

  @Test func `does not open under another vault's keys`() throws {
    let other = try SampleVault()
    #expect(throws: FormatError.unauthentic("header's sealed part")) {
      try sample.header.openBody(other.keys, proving: []).created
    }
  }

  @Test func `a label beyond its limit is not written`() {
    #expect(throws: FormatError.self) {
      try HeaderBody(created: 0, rotated: 0, floor: .testing, labels: [String(repeating: "x", count: 65)]) { _, _ in }.created
    }
  }
}
