internal import CofferTestSupport
internal import Coffer
internal import CofferVault
internal import Foundation
internal import Synchronization
internal import Testing

/// Every statement of the README is run here, under a `COFFER_HOME`.
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

  @Test func `every swift block is compiled here`() throws {
    let examples = try String(
      contentsOf: URL(filePath: #filePath).deletingLastPathComponent().appending(path: "ReadmeExamples.swift"), encoding: .utf8)
    let compiled = examples.split(separator: "\n", omittingEmptySubsequences: false).map {
      $0.trimmingCharacters(in: .whitespaces)
    }
    let blocks = try Self.blocks("swift")
    #expect(blocks.count == 5)
    for block in blocks {
      let isThere = compiled.indices.contains { compiled[$0...].starts(with: block) }
      #expect(isThere, "this block is not in ReadmeExamples.swift: \(block.joined(separator: "\n"))")
    }
  }

  @Test func `the examples do what the README says`() async {
    // In a separate process: the examples read the environment, and other tests' threads use it meanwhile.
    await #expect(processExitsWith: .success) { try Self.runExamples() }
  }

  private static func runExamples() throws {
    let home = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
      .appending(path: "coffer-readme-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
      at: home, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    setenv("COFFER_HOME", home.path, 1)
    defer {
      do { try FileManager.default.removeItem(at: home) } catch { print("left behind: \(home.path): \(error)") }
    }
    let key = try KeyFile.generate()
    let places = try Places.standard()
    _ = try UnlockedVault.create(
      at: places.vault, with: Credentials(keyFile: key.duplicate()), options: places.vaultOptions
    ).lock()
    let older = try Data(contentsOf: URL(filePath: places.vault.description))
    let vault = try places.openVault().unlock(with: Credentials(keyFile: key.duplicate()))
    let fresh = AuthToken(access: "abc", expires: Date(timeIntervalSinceNow: 3600))
    let (app, theme, printed, header) = try ReadmeExamples.app(vault, fresh: fresh)
    #expect(theme == .dark)
    #expect(printed == "Optional(Sealed(•••))")
    #expect(header == "Bearer abc")
    try observation(of: app)
    #expect(try app.plain.load("launches") == .integer(1))
    #expect(try app.plain.load("nickname") == .string("Ada"))
    let keyFile = FilePath(home.path + "/server.key")
    try key.withUnsafeBytes { try Data($0).write(to: URL(filePath: keyFile.string)) }
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: keyFile.string)
    let names = try ReadmeExamples.server(keyFileAt: keyFile, password: SecretBytes.random(16))
    #expect(names.map(\.description) == ["com.example.app/token", "smtp.example.com/mailer"])
    for suffix in ["-wal", "-shm"] where access(places.vault.description + suffix, F_OK) == 0 {
      try FileManager.default.removeItem(atPath: places.vault.description + suffix)
    }
    try older.write(to: URL(filePath: places.vault.description), options: .atomic)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: places.vault.description)
    do {
      _ = try ReadmeExamples.server(keyFileAt: keyFile, password: SecretBytes.random(16))
      Issue.record("an older copy was opened")
    } catch let error as StoreError { #expect(error.kind == .rolledBack) }
  }

  /// The owner gets the current value at once and then the next one, is not retained, and gets nothing after its end.
  private static func observation(of app: StorageRouter) throws {
    let keys = AppKeys()
    weak var gone: Window?
    do {
      let window = Window()
      gone = window
      try ReadmeExamples.observe(app, keys, by: window)
      #expect(window.shown.withLock { $0 } == [.dark])
      try app.set(.light, for: keys.theme)
      for _ in 0..<6000 where window.shown.withLock({ $0.count }) < 2 { usleep(10_000) }
      #expect(window.shown.withLock { $0 } == [.dark, .light])
    }
    // A running call may hold it a moment longer.
    for _ in 0..<6000 where gone != nil { usleep(10_000) }
    #expect(gone == nil)
    try app.set(.dark, for: keys.theme)
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
