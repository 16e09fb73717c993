import Coffer
import Foundation
import CofferTestSupport
import Testing

@testable import CofferCLI
@testable import CofferFormats
@testable import CofferTerminal

/// Mutations of valid imports are read or refused with a named error, and never end the process. The short form takes some;
/// `COFFER_LONG_TESTS=1` a million.
@Suite(.tags(.campaign), .wholeRun)
struct ImportFuzzCampaign {
  private static let seeds = [
    #"{"coffer":1,"items":[{"service":"svc","account":"a","label":"L","type":"text/plain","attributes":{"k":"v","é":"\u00e9"},"created":"2026-01-02T03:04:05Z","modified":null,"expires":"2027-01-01T00:00:00Z","revision":3,"bytes":5,"value":"va\"l\\u\ud83d\ude00"}]}"#,
    #"[{"service":"svc","value":{"base64":"AAECAwQ="}},{"service":"s2","account":"","value":""}]"#,
    #"{"items":[]}"#,
  ].map { Array($0.utf8) }
  private static let words = [
    "{", "}", "[", "]", "\"", "\\", "\\u", "\\ud800", "null", ":", ",", "1e999", "-", "99999999999999999999", "\u{0}", "\n",
    "[[[[[[[[",
  ]
  .map { Array($0.utf8) }

  @Test func `items in JSON`() throws {
    let runs = !Campaign.isLong ? 500 : 1_000_000
    var random = Random(seed: 12)
    var outcomes: [String: Int] = [:]
    for seed in Self.seeds { _ = try JSONItems.read(Self.secret(seed), place: "seed") }
    for _ in 0..<runs {
      var bytes = Self.seeds.randomElement(using: &random) ?? []
      for _ in 0..<Int.random(in: 1...4, using: &random) { Self.mutate(&bytes, &random) }
      let outcome: String
      do {
        _ = try JSONItems.read(Self.secret(bytes), place: "file")
        outcome = "accepted"
      } catch let error as StoreError {
        outcome = error.kind.word
      }
      outcomes[outcome, default: 0] += 1
    }
    print("campaign mutations of a file of items: \(runs) cases, \(outcomes.sorted { $0.key < $1.key })")
    #expect(Set(outcomes.keys).isSubset(of: ["accepted", "damaged", "newerFormat", "invalidName", "tooLarge"]))
    #expect((outcomes["accepted"] ?? 0) > 0 && (outcomes["damaged"] ?? 0) > 0)
  }

  @Test func `files of other programs`() throws {
    let runs = !Campaign.isLong ? 40 : 50_000
    var random = Random(seed: 13)
    var outcomes: [String: Int] = [:]
    for (file, format) in ImportFixture.texts {
      let seed = Array(try ImportFixture.content(file))
      for _ in 0..<runs {
        var bytes = seed
        for _ in 0..<Int.random(in: 1...4, using: &random) { Self.mutate(&bytes, &random) }
        let outcome: String
        do {
          _ = try ImportFixture.items(Data(bytes), format)
          outcome = "accepted"
        } catch let error as StoreError { outcome = error.kind.word } catch let failure as Failure { outcome = failure.kind }
        outcomes[outcome, default: 0] += 1
      }
    }
    print("campaign mutations of files of other programs: \(runs) cases each, \(outcomes.sorted { $0.key < $1.key })")
    #expect(Set(outcomes.keys).isSubset(of: ["accepted", "damaged", "usage"]))
    #expect((outcomes["accepted"] ?? 0) > 0 && (outcomes["damaged"] ?? 0) > 0)
  }

  /// At the depth limit and beyond: depth must cost no stack.
  @Test func `deep nesting is refused`() throws {
    for text in ["[", "{\"a\":", "[{\"service\":"] {
      let bytes = Array(String(repeating: text, count: 200_000).utf8)
      #expect(throws: StoreError.self) { try JSONItems.read(Self.secret(bytes), place: "file") }
    }
  }

  private static func secret(_ bytes: [UInt8]) throws -> SecretBytes {
    try bytes.span.bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
  }

  private static func mutate(_ bytes: inout [UInt8], _ random: inout Random) {
    guard !bytes.isEmpty else { return bytes = [UInt8.random(in: 0...255, using: &random)] }
    let place = Int.random(in: bytes.indices, using: &random)
    switch Int.random(in: 0..<6, using: &random) {
    case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    case 1: bytes[place] = UInt8.random(in: 0...255, using: &random)
    case 2: bytes.removeLast(Int.random(in: 1...(bytes.count - place), using: &random))
    case 3: bytes.remove(at: place)
    case 4: bytes.insert(contentsOf: words.randomElement(using: &random) ?? [], at: place)
    default:
      let length = Int.random(in: 0...min(40, bytes.count - place), using: &random)
      bytes.insert(contentsOf: bytes[place..<place + length], at: Int.random(in: bytes.indices, using: &random))
    }
  }
}
