import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferSync
@testable import CofferVault
@testable import CofferVaultFormat

/// `Tests/Witness/pieces.py`, made from SyncFormat.md alone, makes a vault of what lies at a remote.
@Suite(.tags(.process), .defaultRun) struct WitnessedPieceTests {
  private let place: PutVault
  init() throws { place = try PutVault() }

  private static let program = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Witness/pieces.py")
    .standardized.path

  /// - Returns: how it ended, and its last words.
  private func assemble(_ remote: FilePath, _ out: FilePath) throws -> (code: Int32, error: String) {
    let given = place.home.path.appending("request"), errors = place.home.path.appending("errors")
    let key = Hex.text(Array(PutVault.keyFile.utf8))
    try Data("{\"keyFile\": \"\(key)\"}\n".utf8).write(to: URL(filePath: given.string))
    try Data().write(to: URL(filePath: errors.string))
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["python3", "-B", Self.program, remote.string, out.string]
    process.standardInput = try FileHandle(forReadingFrom: URL(filePath: given.string))
    process.standardError = try FileHandle(forWritingTo: URL(filePath: errors.string))
    try process.run()
    process.waitUntilExit()
    return (process.terminationStatus, try String(contentsOf: URL(filePath: errors.string), encoding: .utf8))
  }

  @Test func `a vault that Python made of the pieces opens, and has the same items`() throws {
    let vault = try place.create()
    for number in 0..<300 {
      let name = ItemName(sealed: "svc", "\(number)")
      try vault.set(form("value \(number)"), for: name, keeping: number % 3)
      if number % 10 == 0 { try vault.set(form("again"), for: name) }
      if number % 7 == 1 { try vault.set(form("f"), for: name.field(named: "f")) }
      if number % 25 == 0 { _ = try vault.remove(name, keptUntil: .distantFuture) }
    }
    _ = try vault.rotate()
    let (remote, out) = (place.home.path.appending("remote"), place.home.path.appending("made.sqlite"))
    let before = try Put.make(vault)
    try before.write(to: remote)
    try vault.set(form("last"), for: ItemName(sealed: "svc", "last"))
    let put = try Put.make(vault, generation: 10, since: before)
    try put.write(to: remote)
    let (code, error) = try assemble(remote, out)
    if code == 127 || error.contains("ModuleNotFoundError") || error.contains("OSError: libsodium") {
      try Test.skip("python3 with libsodium's shared library is not there")
    }
    try #require(code == 0, "\(error)")
    let made = try LockedVault.open(.file(out), options: .withoutPins).unlock(with: PutVault.credentials())
    _ = try made.verify()
    #expect(try made.list() == vault.list())
    #expect(try made.deleted() == vault.deleted())
    #expect(try text(made.get(ItemName(sealed: "svc", "last"))) == "last")
    #expect(try made.status().generation == 10)
    // A byte of a group, and a group that is missing.
    let group = remote.appending("o/\(put.lent[0])")
    var bytes = try Data(contentsOf: URL(filePath: group.string))
    bytes[40] ^= 1
    try bytes.write(to: URL(filePath: group.string))
    #expect(try assemble(remote, place.home.path.appending("damaged")).error.contains("other bytes than its name says"))
    try FileManager.default.removeItem(atPath: group.string)
    #expect(try assemble(remote, place.home.path.appending("missing")).code == 1)
  }
}
