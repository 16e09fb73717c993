import CofferClient
import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import Testing

@testable import CofferAgent
@testable import CofferKeys

/// The frames of ``WithheldKeyTests`` and others, as they are and changed at random, against real keys.
@Suite(.tags(.campaign), .wholeRun) struct WithheldKeyCampaign {
  /// An agent with three keys: two as items, one of them deleted, and one as a field.
  private final class Held {
    let agent: TestAgent
    /// As `use` names them.
    let blobs: [[UInt8]]

    init(_ keys: [(text: String, line: String, blob: [UInt8])], isWithheld: Bool) throws {
      agent = try TestAgent()
      blobs = keys.map(\.blob)
      let vault = try agent.vault(), item = WithheldKeyTests.item
      for (name, key) in try zip([item, item.field(named: "f"), WithheldKeyTests.gone], keys) {
        var metadata = ItemMetadata()
        if isWithheld { metadata.attributes = ["coffer.use": "only", "coffer.use.public": key.line, "coffer.use.ask": "never"] }
        for _ in 0..<2 { try vault.set(form(key.text, metadata), for: name, keeping: 9) }
      }
      try vault.remove(WithheldKeyTests.gone, keptUntil: .distantFuture)
    }

    deinit {
      agent.stop()
      TestAgent.remove(agent.folder)
    }
  }

  private struct Fixture: Decodable { let own: [String: String] }

  private static func keys() throws -> [(text: String, line: String, blob: [UInt8])] {
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Fixtures/Keys/openssh.json")
    let rsa = try #require(JSONDecoder().decode(Fixture.self, from: Data(contentsOf: file)).own["rsa"])
    let ed25519 = try SSHPrivateKey.generate(comment: "").file().withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    let identity = try AgeIdentity.generate(), recipient = identity.recipient.text
    let age = try identity.text().withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    return try [ed25519, rsa].map { text in
      let key = try SSHPrivateKey(file: TestAgent.secret(text)).publicKey
      return (text, key.line(comment: ""), key.blob)
    } + [(age, recipient, Array(recipient.utf8))]
  }

  private static func parts(of keys: [(text: String, line: String, blob: [UInt8])]) throws -> KeyParts {
    var parts = KeyParts()
    for key in keys {
      parts.add(file: key.text)
      guard key.line.hasPrefix("age1") else { continue }
      for line in [key.text, key.text.lowercased()] { parts.add(plain: Data(line.utf8.suffix(30))) }
      if let scalar = try SecretBech32.decode(TestAgent.secret(key.text), prefix: "AGE-SECRET-KEY-") {
        parts.add(scalar.withUnsafeBytes { Data($0) })
      }
    }
    return parts
  }

  /// Uses of the keys, and what stores other keys under their names.
  private static func uses(of blobs: [[UInt8]]) throws -> [[UInt8]] {
    let works: [KeyWork] = [
      .sign(try fileData(), flags: 0), .sign([1, 2, 3], flags: 4),
      .unwrap(share: [UInt8](repeating: 9, count: 32), body: [UInt8](repeating: 1, count: 32)),
    ]
    let uses = try blobs.flatMap { blob in
      try works.map { work in
        try WithheldKeyTests.bytes(.use) { try $0.put(KeyUse(blob: blob, work: work, asker: UInt32(getpid()))) }
      }
    }
    let additions: [KeyAddition] = try [
      .newKey(WithheldKeyTests.item, ItemMetadata()), .newIdentity(WithheldKeyTests.gone, ItemMetadata()),
      .key(form("x"), WithheldKeyTests.item, ItemMetadata()), .identity(form("x"), WithheldKeyTests.gone, ItemMetadata()),
    ]
    return uses + (try additions.map { addition in try WithheldKeyTests.bytes(.put) { try $0.put(addition) } })
  }

  /// Not changed: they wait, or try passphrases, which takes longer each time.
  private static let whole: Set<AgentProtocol.Request> = [.watch, .unlock]

  /// A frame with other fields, and a right length.
  private static func changed(_ frame: [UInt8], _ others: [[UInt8]], _ random: inout Random) -> [UInt8] {
    var body = Array(frame.dropFirst(4))
    guard body.count > 2, let request = AgentProtocol.Request(rawValue: body[1]), !whole.contains(request) else { return frame }
    let place = Int.random(in: 2..<body.count, using: &random)
    switch Int.random(in: 0..<8, using: &random) {
    case 0...2: return frame
    case 3: body[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    case 4: body[place] = [0, 1, 0x7F, 0xFF][place % 4]
    case 5: body.removeSubrange(place...)
    case 6: body.insert(.random(in: .min ... .max, using: &random), at: place)
    default: body = Array(body[..<place]) + others[Int.random(in: others.indices, using: &random)].dropFirst(6)
    }
    return withUnsafeBytes(of: UInt32(body.count).littleEndian) { Array($0) } + body
  }

  /// The number of frames, and of secret parts that their answers hold.
  private static func tally(_ count: Int, isWithheld: Bool, _ random: inout Random) throws -> (asked: Int, found: Int, bytes: Int)
  {
    let keys = try keys(), parts = try parts(of: keys),
      requests = AgentProtocol.Request.allCases.filter { ![.stop, .lock].contains($0) }
    let calls = try requests.map { try WithheldKeyTests.frames($0) }
    let uses = try uses(of: keys.map(\.blob)), others = calls.flatMap { $0.flatMap(\.self) } + uses
    var (asked, found, bytes) = (0, 0, 0)
    while asked < count {
      // Some frames remove keys.
      let held = try Held(keys, isWithheld: isWithheld)
      var answers = Data()
      // Plain reads first: keys that are not withheld are found whatever the choices below are.
      answers += try WithheldKeyTests.answers(to: WithheldKeyTests.frames(.get).flatMap(\.self), held.agent).bytes
      for _ in 0..<20 {
        var frames: [[UInt8]] = []
        while frames.count < 25 {
          let call = calls[Int.random(in: calls.indices, using: &random)]
          frames += call.isEmpty ? [] : call[Int.random(in: call.indices, using: &random)]
          frames.append(uses[Int.random(in: uses.indices, using: &random)])
        }
        frames = frames.map { changed($0, others, &random) }
        let (bytes, count) = try WithheldKeyTests.answers(to: frames, held.agent)
        answers += bytes
        asked += count
        _ = try held.agent.client().unlock(with: TestAgent.credentials())
      }
      bytes += answers.count
      found += parts.matches(in: answers)
      #expect(try held.agent.client().status().unlocked != nil)
    }
    return (asked, found, bytes)
  }

  @Test func `no answer holds a part of a key, whatever a client sends`() throws {
    var random = Random(campaign: "frames that try to read a key")
    let (asked, found, bytes) = try Self.tally(Campaign.size(short: 1_000, long: 100_000), isWithheld: true, &random)
    #expect(found == 0)
    // The same search finds keys that are not withheld.
    let ordinary = try Self.tally(500, isWithheld: false, &random)
    #expect(ordinary.found > 0)
    print(
      "\(asked) frames that try to read a key: \(found) parts of one in \(bytes) bytes; without withholding \(ordinary.found)")
  }
}
