import CofferTestSupport
import CofferMemory
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

@Suite(.tags(.campaign, .kill, .process), .wholeRun)
struct RotationProcessTests {
  private static let items = 12

  private func filled() throws -> TemporaryVault {
    let place = try TemporaryVault()
    let vault = try place.create()
    for number in 0..<Self.items { try vault.set(form("value \(number)"), for: ItemName(service: "svc", account: "\(number)")) }
    _ = try vault.lock()
    return place
  }

  /// The vault is whole, in one of `epochs`, with every item; a later write leaves no old bytes.
  @discardableResult
  private func expectWhole(_ place: TemporaryVault, _ epochs: ClosedRange<UInt64>) throws -> UInt64 {
    let vault = try place.unlock()
    let epoch = try vault.status().epoch
    #expect(epochs.contains(epoch))
    #expect(try vault.verify().records == Self.items)
    for number in 0..<Self.items {
      #expect(text(try vault.get(ItemName(service: "svc", account: "\(number)"))) == "value \(number)")
    }
    try vault.set(form("later"), for: .sample)
    #expect(try !vault.status().oldBytesRemain)
    return epoch
  }

  @Test func `killed at any system call it leaves the old vault or the new`() throws {
    try Tracing.need()
    let long = Campaign.isLong
    let original = try filled()
    var outcomes: [String: Int] = [:]
    for call in Tool.calls {
      for number in stride(from: 1, to: 2000, by: long ? 1 : 4) {
        let place = try original.copy()
        let status = try Tool.traced(killedAt: number, of: call, "rotate", place.path.string, place.keyFile())
        let epoch = try expectWhole(place, status == 0 ? 2...2 : 1...2)
        outcomes[status == 0 ? "ran to its end" : "killed, epoch \(epoch)", default: 0] += 1
        if status == 0 { break }
      }
    }
    print("kills at system calls of a rotation: \(outcomes.sorted { $0.key < $1.key })")
    #expect((outcomes["killed, epoch 1"] ?? 0) > 0)
    #expect((outcomes["killed, epoch 2"] ?? 0) > 0)
    #expect(outcomes["ran to its end"] == Tool.calls.count)
  }

  @Test func `without space it leaves the old vault or the new`() throws {
    try Tracing.need()
    let original = try filled()
    var outcomes: [String: Int] = [:]
    for number in stride(from: 1, to: 60, by: 2) {
      let place = try original.copy()
      let status = try Tool.failing(at: number, "rotate", place.path.string, place.keyFile())
      let epoch = try expectWhole(place, status == 0 ? 2...2 : 1...1)
      outcomes["\(status == 0 ? "acknowledged" : "failed"), epoch \(epoch)", default: 0] += 1
    }
    print("ENOSPC at writes of a rotation: \(outcomes.sorted { $0.key < $1.key })")
    #expect((outcomes["failed, epoch 1"] ?? 0) > 0)
  }

  @Test func `processes that write meanwhile lose nothing and are not asked`() throws {
    let place = try filled()
    let stop = place.folder.appending("stop").string
    defer { _ = FileManager.default.createFile(atPath: stop, contents: nil) }
    let prefixes = ["a", "b"]
    let writers = try prefixes.map { (prefix: $0, try Tool.start("write-items", place.path.string, place.keyFile(), $0, stop)) }
    let reader = try place.unlock()
    let deadline = ContinuousClock.now + .seconds(120)
    while try prefixes.contains(where: { try reader.list(service: $0).isEmpty }), ContinuousClock.now < deadline { usleep(5_000) }
    for _ in 0..<3 {
      let rotation = try Tool.run("rotate", place.path.string, place.keyFile())
      #expect(rotation.code == 0, "\(rotation.output)")
    }
    #expect(FileManager.default.createFile(atPath: stop, contents: nil))
    let vault = try place.unlock()
    var total = 0
    for (prefix, writer) in writers {
      let (code, output) = writer.end()
      // The library may print notices between the lines.
      let count = try #require(output.split(separator: "\n").compactMap { Int($0) }.first)
      #expect(code == 0)
      for number in 0..<count {
        #expect(text(try vault.get(ItemName(service: prefix, account: "\(number)"))) == "\(prefix) \(number)")
      }
      total += count
    }
    #expect(try vault.verify().records == Self.items + total)
    #expect(try vault.status().epoch == 4)
    print("acknowledged writes of two processes during three rotations, none lost: \(total)")
    #expect(total >= 2)
  }
}

extension TemporaryVault {
  func keyFile() throws -> String {
    let path = folder.appending("key").string
    try Self.keyFile.write(toFile: path, atomically: true, encoding: .utf8)
    return path
  }
}

/// The built `TestTool`, next to the test bundle.
enum Tool {
  private static let path = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().path + "/TestTool"
  /// Calls that change a file; strace counts each separately.
  static let calls = ["pwrite64", "fsync", "fdatasync", "ftruncate", "unlink"]

  /// Kills the tool on entering its `number`th `call`.
  static func traced(killedAt number: Int, of call: String, _ arguments: String...) throws -> Int32 {
    try traced("signal=SIGKILL:when=\(number)", call, arguments)
  }

  /// Makes the tool's writes from the `number`th on fail for lack of space.
  static func failing(at number: Int, _ arguments: String...) throws -> Int32 {
    try traced("error=ENOSPC:when=\(number)+", "pwrite64", arguments)
  }

  private static func traced(_ fault: String, _ calls: String, _ arguments: [String]) throws -> Int32 {
    try run(
      "/usr/bin/strace",
      ["-f", "-o", "/dev/null", "-e", "trace=\(calls)", "-e", "inject=\(calls):\(fault)", path] + arguments
    ).code
  }

  static func run(_ arguments: String...) throws -> (code: Int32, output: String) { try run(path, arguments) }

  static func start(_ arguments: String...) throws -> Running { try Running(path, arguments) }

  private static func run(_ program: String, _ arguments: [String]) throws -> (code: Int32, output: String) {
    try Running(program, arguments).end()
  }

  final class Running {
    private let process = Process()
    private let pipe = Pipe()

    init(_ program: String, _ arguments: [String]) throws {
      process.executableURL = URL(fileURLWithPath: program)
      process.arguments = arguments
      process.standardOutput = pipe
      process.standardError = pipe
      try process.run()
    }

    func end() -> (code: Int32, output: String) {
      let output = pipe.fileHandleForReading.readDataToEndOfFile()
      process.waitUntilExit()
      return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }
  }
}
