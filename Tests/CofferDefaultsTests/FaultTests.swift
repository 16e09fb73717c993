import CofferTestSupport
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferDefaults

@Suite(.serialized, .tags(.campaign, .kill, .process), .wholeRun)
struct FaultTests {
  // MARK: Death

  @Test(arguments: ["mapped", "calls"])
  func `what was acknowledged survives death at each call of set, fold, synchronize and close`(_ way: String) throws {
    let folder = try TemporaryFolder()
    var deaths = 0
    var lives: [String] = []
    for number in stride(from: 1, to: .max, by: Campaign.size(short: 9, long: 1)) {
      let place = folder.file("\(number)")
      let tool = try Tool("live", folder, arguments: [way, "\(number)"], place: place)
      let acknowledged = tool.finishBytes().count
      lives += [place.string, "\(acknowledged)"]
      guard tool.wasKilled else { break }
      deaths += 1
    }
    #expect(try Tool("examine", folder, arguments: lives).finish() == "")
    #expect(deaths >= 5)
    print("death at a call, \(way): \(deaths) deaths")
  }

  private static let strace: String? = {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["strace", "-qq", "-o", "/dev/null", "true"]
    do { try process.run() } catch { return "no env" }
    process.waitUntilExit()
    return process.terminationStatus == 0 ? nil : "strace is missing, or may not trace here"
  }()

  private func traced(_ injection: String, _ folder: TemporaryFolder, _ place: FilePath, _ way: String) throws -> Tool {
    let wrapper = ["/usr/bin/env", "strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=" + injection]
    return try Tool("live", folder, arguments: [way], place: place, wrapper: wrapper)
  }

  @Test func `what was acknowledged survives death at each system call, as the kernel sees them`() throws {
    if let reason = Self.strace { try Test.skip("\(reason)") }
    let folder = try TemporaryFolder()
    var deaths = 0
    var lives: [String] = []
    for call in ["flock", "fdatasync", "/^rename", "/^unlink", "fallocate", "pwrite64"] {
      for number in stride(from: 1, to: .max, by: Campaign.size(short: 6, long: 1)) {
        let place = folder.file("\(call.filter(\.isLetter))-\(number)")
        let tool = try traced("\(call):signal=SIGKILL:when=\(number)", folder, place, number % 2 == 0 ? "mapped" : "calls")
        lives += [place.string, "\(tool.finishBytes().count)"]
        guard tool.wasKilled else { break }
        deaths += 1
      }
    }
    #expect(try Tool("examine", folder, arguments: lives).finish() == "")
    #expect(deaths > 10)
    print("death at a system call: \(deaths) deaths")
  }

  @Test func `a call that a signal interrupts is made again`() throws {
    if let reason = Self.strace { try Test.skip("\(reason)") }
    let folder = try TemporaryFolder()
    for (index, call) in ["flock", "fdatasync", "pwrite64", "fallocate"].enumerated() {
      let place = folder.file("\(index)")
      let tool = try traced("\(call):error=EINTR:when=1+3", folder, place, "calls")
      let acknowledged = tool.finishBytes().count
      #expect(tool.process.terminationStatus == 0 && acknowledged == 11, "\(call)")
      #expect(try Tool("examine", folder, arguments: [place.string, "\(acknowledged)"]).finish() == "")
    }
  }

  @Test func `a holder of the lock that is killed blocks nobody`() throws {
    let folder = try TemporaryFolder()
    for _ in 0..<Campaign.size(short: 3, long: 100) {
      let tool = try Tool("hold", folder)
      _ = tool.firstLine()
      tool.kill()
      tool.finish()
      try folder.open(isShared: false).save(.integer(.random(in: 0...9)), for: "k")
    }
  }

  // MARK: Failing disks

  @Test func `each call that fails once is a typed error that loses nothing`() throws {
    let folder = try TemporaryFolder()
    let tool = try Tool("failing", folder, "\(Campaign.size(short: 23, long: 1))")
    let output = tool.finish()
    #expect(tool.process.terminationStatus == 0 && !tool.wasKilled)
    #expect(output.hasPrefix("runs ") && output.split(separator: "\n").count == 1, "\(output)")
    print("failing calls: \(output)", terminator: "")
  }

  @Test func `what was synchronized survives a power loss`() throws {
    try campaign("power-loss", Campaign.size(short: 40, long: 50_000)) { $0.hasSuffix(" 0 lost\n") }
  }

  // MARK: Many at once

  @Test func `many processes that write distinct keys, with readers and folds, lose none`() throws {
    let folder = try TemporaryFolder()
    let processes = Campaign.size(short: 8, long: 16), each = Campaign.size(short: 100, long: 500)
    let readers = try (0..<2).map { _ in try Tool("churn", folder, "\(each)") }
    let writers = try (0..<processes).map { try Tool("write", folder, "p\($0)", "\(each)") }
    for tool in writers + readers { #expect(tool.finish().isEmpty) }
    let store = try folder.open()
    let found = try store.names().count
    #expect(found == processes * each)
    try store.close()
    #expect(try PropertyList.decode(folder.bytes(of: "d.plist")).values.count == processes * each)
    print("writers: \(found) of \(processes * each) values")
  }

  // MARK: Bytes from strangers

  @Test func `property lists from strangers are read or refused, never lost`() throws {
    let seeds = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Fixtures/PropertyLists")
    try campaign("fuzz-lists", Campaign.size(short: 150, long: 1_000_000), [seeds.standardizedFileURL.path])
  }

  @Test func `journals from strangers are read or refused, and cost the list nothing`() throws {
    try campaign("fuzz-journals", Campaign.size(short: 150, long: 1_000_000))
  }

  @Test func `command lines of any kind are overrides or none`() throws {
    try campaign("fuzz-arguments", Campaign.size(short: 400, long: 1_000_000))
  }

  /// In a separate process: a crash is a failure, not the end of the tests.
  private func campaign(
    _ command: String, _ count: Int, _ rest: [String] = [], _ isGood: (String) -> Bool = { $0.hasPrefix("done ") }
  ) throws {
    let folder = try TemporaryFolder()
    let place = folder.file("work")
    try FileManager.default.createDirectory(atPath: place.string, withIntermediateDirectories: false)
    let tool = try Tool(command, folder, arguments: [Campaign.seed, "\(count)"] + rest, place: place)
    let output = tool.finish()
    #expect(tool.process.terminationStatus == 0 && !tool.wasKilled, "the process crashed")
    #expect(isGood(output) && output.split(separator: "\n").count == 1, "\(output.prefix(2_000))")
    print("\(command): \(output.suffix(200))", terminator: "")
  }
}
