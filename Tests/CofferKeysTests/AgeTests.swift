import CofferMemory
import CofferPlatform
import CofferTestSupport
import Foundation
import Testing

@testable import CofferKeys

@Suite struct AgeTests {
  struct Vectors: Decodable {
    struct Vector: Decodable { let name, expect, identity, fileKey, share, body: String }
    let vectors: [Vector]
  }

  private static func unwrap(_ identity: borrowing AgeIdentity, _ share: [UInt8], _ body: [UInt8]) throws -> [UInt8]? {
    try share.withBytes { (share) throws(StoreError) in
      try body.withBytes { (body) throws(StoreError) in
        guard let fileKey = try identity.unwrap(share: share, body: body) else { return nil }
        return fileKey.withUnsafeBytes { Array($0) }
      }
    }
  }

  @Test func `the stanzas of C2SP's vectors give their file key, no match, or an error`() throws {
    let file = try Data(contentsOf: KeyFixture.folder.appending(path: "age.json"))
    let vectors = try JSONDecoder().decode(Vectors.self, from: file).vectors
    #expect(vectors.count == 8)
    for vector in vectors {
      let identity = try AgeIdentity(text: secret(vector.identity))
      let (share, body) = (bytes(vector.share), bytes(vector.body))
      switch vector.expect {
      case "success": #expect(try Self.unwrap(identity, share, body) == bytes(vector.fileKey), "\(vector.name)")
      // The identity that is stated there is not the recipient's.
      case "no match": #expect(try Self.unwrap(identity, share, body) == nil, "\(vector.name)")
      default:
        try expect(.undecodable(stored: "malformed bytes")) { _ = try Self.unwrap(identity, share, body) }
      }
    }
  }

  @Test func `a file key wrapped for a recipient is unwrapped by its identity alone`() throws {
    let identity = try AgeIdentity.generate()
    let fileKey = try SecretBytes.random(16)
    let recipient = try AgeRecipient(text: identity.recipient.text)
    #expect(recipient == identity.recipient)
    let stanza = try recipient.wrap(fileKey)
    #expect(try Self.unwrap(identity, stanza.share, stanza.body) == fileKey.withUnsafeBytes { Array($0) })
    let other = try AgeIdentity.generate()
    #expect(try Self.unwrap(other, stanza.share, stanza.body) == nil)
    // The highest bit of a point does not count. Source: RFC 7748, section 5. The share is part of the salt too.
    for bit in 0..<256 {
      #expect(try Self.unwrap(identity, stanza.share.flipped(bit), stanza.body) == nil)
      #expect(try Self.unwrap(identity, stanza.share, stanza.body.flipped(bit)) == nil)
    }
    for count in 0..<32 {
      #expect(throws: StoreError.self) { try Self.unwrap(identity, Array(stanza.share.prefix(count)), stanza.body) }
      #expect(throws: StoreError.self) { try Self.unwrap(identity, stanza.share, Array(stanza.body.prefix(count))) }
    }
    #expect(throws: StoreError.self) { _ = try recipient.wrap(SecretBytes(zeros: 15)) }
    let lowOrder = AgeRecipient(point: [UInt8](repeating: 0, count: 32))
    #expect(throws: StoreError.self) { _ = try lowOrder.wrap(fileKey) }
  }

  @Test func `texts of identities and recipients come back, and with a letter changed or missing are refused`() throws {
    let identity = try AgeIdentity(text: secret("AGE-SECRET-KEY-1EGTZVFFV20835NWYV6270LXYVK2VKNX2MMDKWYKLMGR48UAWX40Q2P2LM0\n"))
    let (whole, recipient) = (text(try identity.text()), identity.recipient.text)
    #expect(whole == "AGE-SECRET-KEY-1EGTZVFFV20835NWYV6270LXYVK2VKNX2MMDKWYKLMGR48UAWX40Q2P2LM0")
    #expect(recipient.hasPrefix("age1") && recipient.count == 62)
    for index in whole.utf8.indices {
      let (head, tail) = (whole[..<index], whole[index...].dropFirst())
      for letter in ["Q", "q", "1", "B", ""] where letter != String(whole[index]) {
        #expect(throws: StoreError.self) { _ = try AgeIdentity(text: secret(head + letter + tail)) }
      }
    }
    for index in recipient.utf8.indices {
      let (head, tail) = (recipient[..<index], recipient[index...].dropFirst())
      for letter in ["q", "Q", "p", ""] where letter != String(recipient[index]) {
        #expect(throws: StoreError.self) { _ = try AgeRecipient(text: head + letter + tail) }
      }
    }
    for wrong in ["", "age1", whole.lowercased(), recipient] {
      #expect(throws: StoreError.self) { _ = try AgeIdentity(text: secret(wrong)) }
    }
    for wrong in ["", "age1", recipient.uppercased(), whole] {
      #expect(throws: StoreError.self) { _ = try AgeRecipient(text: wrong) }
    }
  }
}
