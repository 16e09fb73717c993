import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferDefaults

/// A separate folder for one test, removed with it.
final class TemporaryFolder: Sendable {
  private let folder: TestFolder
  var path: FilePath { folder.path }
  let decisions: FilePath

  init() throws {
    folder = try TestFolder("defaults")
    decisions = folder.path.appending("decisions")
    try FileManager.default.createDirectory(atPath: decisions.string, withIntermediateDirectories: false)
  }

  func file(_ name: String) -> FilePath { path.appending(name) }
  func write(_ text: String, to name: String) throws { try Data(text.utf8).write(to: URL(filePath: file(name).string)) }
  func bytes(of name: String) throws -> Data { try Data(contentsOf: URL(filePath: file(name).string)) }
  func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: file(name).string) }

  /// The names in the folder, hidden ones included, except the decisions.
  func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path.string).filter { $0 != "decisions" }.sorted()
  }

  func open(
    damage: DamagePolicy = .fail, decisions: DecisionLookup? = nil, domain: String = "d", isShared: Bool = true,
    foldsWhenIdle: Bool = false, calls: SystemCalls = SystemCalls(), suites: [String] = [], layers: DefaultsLayers = .init()
  ) throws(StoreError) -> DefaultsStore {
    var options = EngineOptions(damage: damage, decisions: decisions)
    options.isShared = isShared
    options.foldsWhenIdle = foldsWhenIdle
    options.calls = calls
    return try DefaultsStore.open(domain: domain, in: path, suites: suites, layers: layers, options: options)
  }
}

/// Waits, on the stores' own clock, until any store's next call would look at its files.
func untilTheNextLookIsDue() -> Bool {
  let due = CoarseClock.now() + CoarseClock.lookInterval
  return eventually { CoarseClock.now() > due }
}

extension EngineOptions {
  /// For a store with its own engine, which folds only on request.
  static var unshared: EngineOptions {
    var options = EngineOptions()
    options.isShared = false
    options.foldsWhenIdle = false
    return options
  }
}

extension DefaultsStore {
  /// Leaves a transaction over `name` with unknown outcome, as a process does that dies during it.
  func leavePending(_ form: PlainForm, for name: String) throws {
    var batch = Batch<Plain>()
    batch.writes[name] = .set(form)
    let decision = Decision(place: "x") { (_) throws(StoreError) in throw StoreError(.outcomeUnknown, "no answer", cure: "none") }
    do throws(StoreError) { try commit(batch, decision: decision) } catch {
      guard case .pending = error.kind else { throw error }
    }
  }
}

struct Tool {
  let process = Process()
  private let output = Pipe()
  private let input = Pipe()
  private let errors = Pipe()

  init(_ command: String, _ folder: TemporaryFolder, _ rest: String..., domain: String = "d") throws {
    try self.init(command, folder, arguments: rest, domain: domain)
  }

  init(
    _ command: String, _ folder: TemporaryFolder, arguments: [String], domain: String = "d", configuration: FilePath? = nil,
    place: FilePath? = nil, hasInput: Bool = false, keepsErrors: Bool = false, wrapper: [String] = []
  ) throws {
    let folderOfTests = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
    let tool = folderOfTests.appending(path: "TestTool")
    let line = wrapper + [tool.path, command, (place ?? folder.path).string, domain] + arguments
    process.executableURL = URL(filePath: line[0])
    process.arguments = Array(line.dropFirst())
    if hasInput { process.standardInput = input }
    if keepsErrors { process.standardError = errors }
    process.environment = Sanitizing.environment.merging([
      "XDG_CONFIG_HOME": (configuration ?? folder.path).string, "SWIFT_BACKTRACE": "enable=no", "HOME": folder.path.string,
    ]) { $1 }
    process.standardOutput = output
    try process.run()
  }

  /// Waits for the end and returns the output.
  @discardableResult
  func finish() -> String { String(decoding: finishBytes(), as: UTF8.self) }

  /// The standard error output, once the process has ended.
  func errorText() -> String { String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self) }

  func finishBytes() -> Data {
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return data
  }

  func firstLine() -> String {
    var line = Data()
    while let byte = try? output.fileHandleForReading.read(upToCount: 1), byte != Data("\n".utf8), !byte.isEmpty { line += byte }
    return String(decoding: line, as: UTF8.self)
  }

  /// Waits until the tool has printed so many bytes; fewer if it ends before.
  func firstBytes(_ count: Int) -> Data { output.fileHandleForReading.readData(ofLength: count) }

  func send(_ text: String) { input.fileHandleForWriting.write(Data(text.utf8)) }

  func kill() { Foundation.kill(process.processIdentifier, SIGKILL) }
  var wasKilled: Bool { process.terminationReason == .uncaughtSignal }
}
