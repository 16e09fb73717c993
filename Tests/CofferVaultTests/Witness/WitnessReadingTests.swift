import CofferTestSupport
import CofferMemory
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault

/// A Python program, made from the format's text alone, reads Coffer's vaults.
@Suite(.enabled(if: Witness.isThere, Witness.missing)) struct WitnessReadingTests {
  struct Request: Encodable {
    let path: String, pins: String?, invitations: [String]
    let key: Witness.Key

    func encode(to encoder: any Encoder) throws {
      try key.encode(to: encoder)
      var keys = encoder.container(keyedBy: Keys.self)
      try keys.encode(path, forKey: .path)
      try keys.encodeIfPresent(pins, forKey: .pins)
      try keys.encode(invitations, forKey: .invitations)
    }

    private enum Keys: CodingKey { case path, pins, invitations }
  }

  @Test(.tags(.campaign, .process), .wholeRun)
  func `a reader made from the text alone finds in random vaults what Coffer does, with every slot`() throws {
    let vaults = Campaign.size(short: 12, long: 1000)
    var random = Random(campaign: "vaults for another reader")
    var made: [RandomVault] = []
    var (openings, records, epochs) = (0, 0, 0)
    for number in 0..<vaults {
      made.append(try RandomVault(random.next()))
      guard made.count == 25 || number == vaults - 1 else { continue }
      let requests = made.flatMap(\.requests)
      let expected = made.flatMap { vault in vault.requests.map { _ in vault.holds } }
      for (answer, holds) in zip(try Witness.ask("read", requests, as: Witness.Answer.self), expected) {
        answer.expect(holds)
      }
      openings += requests.count
      records += made.reduce(0) { $0 + $1.holds.records.count }
      epochs += made.reduce(0) { $0 + Int($1.holds.epoch) }
      made = []
    }
    print("another reader: \(vaults) vaults, \(epochs) epochs, \(records) records, \(openings) openings")
  }

  @Test(.tags(.process), .defaultRun) func `the reader prints a vault's items for a person who types its passphrase`() throws {
    let folder = try TestFolder("witness")
    let path = folder.path.appending("vault.sqlite").string
    try Data(contentsOf: GoldenVaults.folder.appending(path: "passphrase.sqlite")).write(to: URL(filePath: path))
    #expect(chmod(path, 0o600) == 0)
    let passphrase = try Data(contentsOf: GoldenVaults.folder.appending(path: "passphrase.txt"))
    let items = try Witness.items(of: path, passphrase: passphrase)
    #expect(items.count == GoldenVaults.items.count)
    let token = items.first { $0["service"] as? String == "github.com" }
    #expect(token?["value"] as? String == "ghp_0123456789" && token?["label"] as? String == "CI token")
    #expect(throws: Witness.Failed.self) { try Witness.items(of: path, passphrase: Data("another\n".utf8)) }
  }
}
