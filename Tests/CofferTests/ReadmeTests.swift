internal import CofferTestSupport
internal import Foundation
internal import Testing

/// The README's commands. Its Swift is run by `MainProgramTests`.
@Suite(.serialized, .tags(.process), .defaultRun)
struct ReadmeTests {
  static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  static func blocks(_ language: String) throws -> [[String]] {
    let readme = try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
    var blocks: [[String]] = []
    var isInside = false
    for line in readme.split(separator: "\n", omittingEmptySubsequences: false) {
      if line == "```\(language)" {
        isInside = true
        blocks.append([])
      } else if line == "```" {
        isInside = false
      } else if isInside {
        blocks[blocks.count - 1].append(line.trimmingCharacters(in: .whitespaces))
      }
    }
    return blocks
  }

  @Test func `the shell block runs as it stands`() throws {
    let session = try #require(try Self.blocks("sh").last)
    let home = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
      .appending(path: "coffer-readme-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
      at: home, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    defer {
      do { try FileManager.default.removeItem(at: home) } catch { print("left behind: \(home.path): \(error)") }
    }
    let tools = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().path
    let process = Process()
    let output = Pipe()
    let deploy = home.appending(path: "deploy")
    try Data("#!/bin/sh\necho \"deployed with ${#TOKEN} characters\"\n".utf8).write(to: deploy)
    try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: deploy.path)
    process.currentDirectoryURL = home
    process.executableURL = URL(filePath: "/bin/bash")
    process.arguments = ["-euo", "pipefail", "-c", session.joined(separator: "\n")]
    process.environment = ["HOME": home.path, "PATH": "\(tools):/usr/bin:/bin", "TOKEN": "the token"]
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(text)")
    let expectations = ["the token", "github.com", "CI token", "dark", "deployed with 9 characters"]
    for expected in expectations { #expect(text.contains(expected), "\(text)") }
  }

  @Test func `the commands that install are the same in every shell, and those of continuous integration`() throws {
    let commands = try Self.blocks("sh").map { $0.joined(separator: "\n") }
    let packages = try #require(commands.first)
    #expect(packages.split(separator: "\n").allSatisfy { $0.hasPrefix("sudo ") || $0.hasPrefix("uv ") }, "\(packages)")
    for sign in ["|", ";", "$(", "<<", "&"] { #expect(!packages.contains(sign)) }
    #expect(commands.dropFirst().first == "./.ci/setup && swift run coffer tour")
    #expect(commands.dropFirst(2).first == "./.ci/setup && swift test")
    let script = try String(contentsOf: Self.root.appending(path: ".ci/run"), encoding: .utf8)
    #expect(script.contains("./.ci/setup && swift test"))
    let readme = try String(contentsOf: Self.root.appending(path: "README.md"), encoding: .utf8)
    #expect(readme.split(separator: "\n", omittingEmptySubsequences: false).count < 200)
  }
}
