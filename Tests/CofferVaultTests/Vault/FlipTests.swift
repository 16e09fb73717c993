import CofferTestSupport
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// Changes each byte of a small vault, one at a time. Short form: the first 100 bytes and every 223rd after them. Long form,
/// all: `COFFER_LONG_TESTS=1`.
@Suite(.tags(.campaign), .wholeRun)
struct FlipTests {
  @Test func `a flipped byte gives the right answer or a named error`() throws {
    let long = Campaign.isLong
    let place = try TemporaryVault()
    let names = try (0..<3).map { try ItemName(service: "svc", account: "\($0)") }
    let vault = try place.create()
    for (number, name) in names.enumerated() { try vault.set(form("value \(number)"), for: name) }
    _ = try vault.lock()
    let original = try Data(contentsOf: URL(fileURLWithPath: place.path.string))
    #expect(!FileManager.default.fileExists(atPath: place.path.string + "-wal"), "a closed vault is one file")

    var tally: [String: Int] = [:]
    for offset in original.indices where long || offset < 100 || offset % 223 == 0 {
      var changed = original
      changed[offset] ^= 1 << (offset % 8)
      tally[try outcome(of: changed, at: place, names), default: 0] += 1
    }
    print("flipped bytes of \(original.count): \(tally.sorted { $0.key < $1.key })")
    #expect(tally["wrong value"] == nil)
    #expect((tally["right answer"] ?? 0) > 0, "bytes that SQLite does not use change nothing")
    #expect((tally["tampered"] ?? 0) > 0)
  }

  private func outcome(of bytes: Data, at place: TemporaryVault, _ names: [ItemName]) throws -> String {
    for suffix in ["-wal", "-shm", "-journal"] {
      let side = place.path.string + suffix
      if FileManager.default.fileExists(atPath: side) { try FileManager.default.removeItem(atPath: side) }
    }
    try bytes.write(to: URL(fileURLWithPath: place.path.string))
    do {
      let vault = try place.unlock()
      for (number, name) in names.enumerated() where text(try vault.get(name)) != "value \(number)" { return "wrong value" }
      guard try vault.list().map(\.name) == names else { return "wrong value" }
      _ = try vault.verify()
      return "right answer"
    } catch let error as StoreError { return "\(error.kind)" }
  }
}
