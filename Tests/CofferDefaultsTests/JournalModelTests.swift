import CofferTestSupport
import Foundation
import Testing

/// The model of a journal that is replaced, `Tests/Models/journal.py`.
@Suite(.tags(.campaign, .process), .wholeRun) struct JournalModelTests {
  private static let model = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().appending(
    path: "Models/journal.py")

  private static func run(_ words: String...) throws -> (status: Int32, text: String) {
    let python = "/usr/bin/python3"
    guard FileManager.default.isExecutableFile(atPath: python) else { try Test.skip(without: "python3") }
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(filePath: python)
    process.arguments = ["-B", model.path] + words
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return (process.terminationStatus, text)
  }

  @Test func `the rules of a replaced journal hold in every order of steps, and each is needed`() throws {
    let (status, text) = try Self.run(Campaign.isLong ? "--whole" : "--short")
    print(text)
    #expect(status == 0, "\(text)")
    #expect(text.contains("no property is broken"))
    #expect(text.matches(of: /without [a-z-]+: (?!not refused)/).count >= 20)
  }

  @Test func `the shortest way to a loss is printed`() throws {
    let (status, text) = try Self.run("copy", "once")
    #expect(status == 1)
    #expect(text.split(separator: "\n").last?.hasSuffix(".moved was thrown twice for one replacement") == true)
  }
}
