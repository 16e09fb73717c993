import Coffer
import CofferTestSupport
import Foundation
import Testing

/// The README's Swift, and the program of the page "A first secret in Swift", each built as the `main.swift` of a program and
/// run, under a `COFFER_HOME`.
@Suite(.serialized, .tags(.process), .defaultRun)
struct MainProgramTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  private static func blocks(_ language: String, of path: String) throws -> [String] {
    let text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
    return text.components(separatedBy: "```\(language)\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
  }

  private struct Answer {
    let status: Int32
    let text: String
  }

  /// A folder with a program, which has its home there.
  private struct Built {
    private let folder: TestFolder
    private let program: URL
    var path: FilePath { folder.path }
    var home: FilePath { path.appending("home") }

    init(_ name: String, _ text: String) throws {
      folder = try TestFolder("program")
      let place = URL(filePath: folder.path.string)
      try text.write(to: place.appending(path: "main.swift"), atomically: true, encoding: .utf8)
      program = try Compiler.build(name, in: place)
    }

    func run(_ arguments: String...) throws -> Answer {
      let process = Process(), output = Pipe()
      process.executableURL = program
      process.arguments = arguments
      process.currentDirectoryURL = URL(filePath: path.string)
      process.environment = [
        "COFFER_HOME": home.string, "COFFER_KEY_FILE": "first.key", "SWIFT_BACKTRACE": "enable=no", "PATH": "/usr/bin:/bin",
      ]
      process.standardInput = FileHandle.nullDevice
      process.standardOutput = output
      process.standardError = output
      try process.run()
      let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
      process.waitUntilExit()
      return Answer(status: process.terminationStatus, text: text)
    }
  }

  @Test func `the README's blocks are one program, which does what the README says`() throws {
    let text = try Self.blocks("swift", of: "README.md").joined(separator: "\n")
    #expect(text.matches(of: /import (Coffer\w*)/).map(\.1) == ["Coffer"])
    #expect(text.hasSuffix("try app.close()  // the property list is up to date\n"))
    let report = "print(theme, token as Any, header as Any, names)\n"
    let built = try Built("readme", text + report)
    let places = Places(home: built.home), key = built.path.appending("first.key")
    _ = try places.createVault(newKeyFileAt: key)
    let vault = URL(filePath: places.vault.description)
    let older = try Data(contentsOf: vault)
    for launch in 1...2 {
      let answer = try built.run()
      #expect(answer.status == 0, "\(answer.text)")
      #expect(answer.text.contains("theme: success(Programs.Theme.dark)\n"), "\(answer.text)")
      #expect(
        answer.text.hasSuffix(
          "dark Optional(Sealed(•••)) Optional(\"Bearer tok_123\") [com.example.app/token, smtp.example.com/mailer]\n"),
        "\(answer.text)")
      let list = try Data(contentsOf: URL(filePath: places.propertyList(of: "com.example.app").string))
      let values = try PropertyListSerialization.propertyList(from: list, format: nil) as? [String: Any] ?? [:]
      #expect(values["theme"] as? String == "dark" && values["nickname"] as? String == "Ada")
      #expect(values["launches"] as? Int == launch)
    }
    // An older copy of the vault is not opened.
    for suffix in ["-wal", "-shm"] { unlink(vault.path() + suffix) }
    try older.write(to: vault, options: .atomic)
    chmod(vault.path(), 0o600)
    let answer = try built.run()
    #expect(answer.status != 0 && answer.text.contains("older"), "\(answer.text)")
  }

  @Test func `the program of a first secret prints what its page shows`() throws {
    let page = "Sources/Coffer/Coffer.docc/FirstSecret.md"
    let program = try #require(try Self.blocks("swift", of: page).last)
    let built = try Built("First", program)
    let tools = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().path
    let shown = try #require(try Self.blocks("console", of: page).first)
    let process = Process(), output = Pipe()
    process.executableURL = URL(filePath: "/bin/bash")
    // The shell shows each command before it runs it, as the page does.
    let commands = shown.split(separator: "\n").filter { $0.hasPrefix("$ ") }.map { String($0.dropFirst(2)) }
    process.arguments = ["-ec", commands.map { "echo '$ \($0)'; \($0)" }.joined(separator: "\n")]
    process.currentDirectoryURL = URL(filePath: built.path.string)
    process.environment = ["COFFER_HOME": built.home.string, "PATH": "\(built.path):\(tools):/usr/bin:/bin"]
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    // The command writes a value as it is, without an end of its line.
    #expect(text + "\n" == shown)
    // A second setup changes nothing.
    let again = try built.run("setup")
    #expect(again.status != 0 && again.text.contains("there is already a vault"), "\(again.text)")
  }
}
