internal import Foundation
internal import Testing

/// A model of `Tests/Models`, and SPIN, which checks it (Debian package `spin`): one process of the model is one of the
/// code, with steps announced by the test tool or made by the test.
public struct Spin: Sendable {
  private let model: String
  private let steps: [String: Int]

  /// A step of a process in a trace. Processes count from one; zero is the world.
  public struct Step: Sendable, CustomStringConvertible {
    /// The process that makes it.
    public let process: Int
    /// The model's name of the step in lower case.
    public let name: String
    /// The value that the model prints with it.
    public let value: Int?
    /// The process and the step.
    public var description: String { "\(process) \(name)" }

    /// The step `name` of `process`.
    public init(_ process: Int, _ name: String, value: Int? = nil) {
      self.process = process
      self.name = name
      self.value = value
    }
  }

  /// A tool that failed, or unexpected output of a model.
  public struct Failed: Error {
    /// The failure.
    public let what: String
  }

  private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().appending(
    path: "Models")

  /// Skips the test without SPIN or gcc.
  public static func need() throws {
    for program in ["/usr/bin/spin", "/usr/bin/gcc"] where !FileManager.default.isExecutableFile(atPath: program) {
      try Test.skip(without: program)
    }
  }

  /// The model of that name.
  public init(_ model: String) throws {
    self.model = Self.folder.appending(path: "\(model).pml").path
    let text = try String(contentsOfFile: self.model, encoding: .utf8)
    guard let list = text.firstMatch(of: /\/\* The steps(?s:.*?)\n\n/) else { throw Failed(what: "\(model) lists no steps") }
    let pairs = list.output.matches(of: /#define ([A-Z_]+) (\d+)/).map { ($0.1.lowercased(), Int($0.2) ?? 0) }
    steps = Dictionary(uniqueKeysWithValues: pairs)
  }

  /// A trace of the model, chosen by `seed`.
  public func trace(seed: Int, _ definitions: [String] = []) throws -> [Step] {
    let names = Dictionary(uniqueKeysWithValues: steps.map { ($1, $0) })
    let work = try Self.workFolder()
    defer { try? FileManager.default.removeItem(at: work) }
    let output = try Self.run("/usr/bin/spin", ["-DREPLAY", "-T", "-u20000", "-n\(seed)"] + definitions + [model], in: work)
    let trace = try output.matches(of: /STEP (\d+) (\d+)(?: (\d+))?/).map { match in
      guard let process = Int(match.1), let step = Int(match.2), let name = names[step] else { throw Failed(what: output) }
      return Step(process, name, value: match.3.flatMap { Int($0) })
    }
    guard trace.last?.name == "end" else { throw Failed(what: "the model's trace \(seed) does not end: \(output)") }
    return trace
  }

  /// The model's verdict on `records`: nil for one that it allows, otherwise the largest number of its steps that it allows.
  public func refusals(of records: [[Step]], _ definitions: [String] = []) throws -> [Int?] {
    let work = try Self.workFolder()
    defer { try? FileManager.default.removeItem(at: work) }
    _ = try Self.run("/usr/bin/spin", ["-a", "-DACCEPT"] + definitions + [model], in: work)
    _ = try Self.run("/usr/bin/gcc", ["-O0", "-w", "-DSAFETY", "-DNOREDUCE", "-o", "pan", "pan.c"], in: work)
    var refusals: [Int?] = []
    for first in stride(from: 0, to: records.count, by: 255) {
      let some = records[first..<min(first + 255, records.count)]
      let lines = some.flatMap { record in record.map { "\($0.process) \(steps[$0.name] ?? 0)" } + ["0 0"] }
      try lines.joined(separator: "\n").write(to: work.appending(path: "records"), atomically: false, encoding: .utf8)
      let output = try Self.run(work.appending(path: "pan").path, ["-E", "-m100000"], in: work)
      let said = output.matches(of: /RECORD \d+ (allowed|refused) (\d+) of (\d+)/)
      guard said.count == some.count else { throw Failed(what: output) }
      refusals += said.map { $0.1 == "allowed" ? nil : Int($0.2) }
    }
    return refusals
  }

  /// A folder for one run: SPIN writes the preprocessed model to a fixed name in the current folder.
  private static func workFolder() throws -> URL {
    let work = FileManager.default.temporaryDirectory.appending(path: "coffer-spin-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: work, withIntermediateDirectories: false)
    return work
  }

  private static func run(_ program: String, _ arguments: [String], in folder: URL) throws -> String {
    let process = Process()
    let pipe = Pipe()
    process.executableURL = URL(filePath: program)
    process.arguments = arguments
    process.currentDirectoryURL = folder
    process.environment = ["PATH": "/usr/bin:/bin", "RECORDS": "records"]
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw Failed(what: "\(program) \(arguments): \(output)") }
    return output
  }
}

/// A model in Python, of `Tests/Models`.
public enum PythonModel {
  /// Runs `NAME.py` with `words`, and returns its exit status and its output. Skips the test without Python.
  public static func run(_ name: String, _ words: [String]) throws -> (status: Int32, text: String) {
    let python = "/usr/bin/python3"
    guard FileManager.default.isExecutableFile(atPath: python) else { try Test.skip(without: "python3") }
    let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(filePath: python)
    process.arguments = ["-B", tests.appending(path: "Models/\(name).py").path] + words
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return (process.terminationStatus, text)
  }
}
