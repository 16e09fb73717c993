import CofferPlatform
import CofferTestSupport
import CofferVaultFormat
import Foundation
import SystemPackage
import Testing

@testable import CofferSync

/// A remote of one kind, and carriers of several machines to it.
final class Remote: Sendable {
  enum Kind: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case folder
    case gitPath = "git over a path"
    case gitHTTP = "git http-backend"
    case gitSSH = "git over ssh"
    case command = "a script"
    case rclone = "rclone in a folder"
    case webDAV = "rclone and WsgiDAV"
    case s3 = "rclone and moto's S3"

    var testDescription: String { rawValue }
    var isGit: Bool { [.gitPath, .gitHTTP, .gitSSH].contains(self) }

    static let files: [Kind] = [.folder, .command, .rclone]
    /// Those with a server, for the whole run.
    static let servers: [Kind] = [.gitHTTP, .gitSSH, .webDAV, .s3]
    static let programs: [Kind] = allCases.filter { !servers.contains($0) }
  }

  let kind: Kind
  let folder: TestFolder
  private let server: Server?
  private let settings: [String]

  /// Skips the test if a program of its kind is not installed.
  init(_ kind: Kind) throws {
    self.kind = kind
    folder = try TestFolder("remote")
    try #require(mkdir(folder.path.appending("there").string, 0o755) == 0)
    var settings: [String] = [], server: Server?
    if kind.isGit { try Self.run(["git", "init", "--quiet", "--bare", folder.path.appending("there/vault.git").string]) }
    switch kind {
    case .folder, .gitPath: break
    case .gitHTTP:
      server = try Server("git_http.py", [folder.path.appending("there").string])
      try Self.run(["git", "-C", folder.path.appending("there/vault.git").string, "config", "http.receivepack", "true"])
    case .gitSSH:
      let sshd = try SSHServer(in: folder.path)
      settings = ["GIT_SSH_COMMAND=\(sshd.command)"]
      server = sshd.server
    case .command: try Self.write(Self.script, to: folder.path.appending("carry"), mode: 0o700)
    case .rclone, .webDAV, .s3:
      try Self.need("rclone")
      if kind == .webDAV { server = try Server("stores.py", ["webdav", folder.path.appending("there").string]) }
      if kind == .s3 { server = try Server("stores.py", ["s3"]) }
      let address = "http://127.0.0.1:\(server?.port ?? 0)"
      let lines =
        switch kind {
        case .rclone: ["type = local"]
        case .webDAV: ["type = webdav", "vendor = other", "url = \(address)"]
        default: ["type = s3", "provider = Other", "endpoint = \(address)", "access_key_id = a", "secret_access_key = b"]
        }
      try Self.write((["[store]"] + lines).joined(separator: "\n") + "\n", to: folder.path.appending("rclone.conf"), mode: 0o600)
      settings = ["RCLONE_CONFIG=\(folder.path.appending("rclone.conf"))", "AWS_CA_BUNDLE="]
    }
    (self.settings, self.server) = (settings, server)
  }

  /// Where its files lie, unless a server keeps them elsewhere.
  var there: FilePath { folder.path.appending(kind.isGit ? "there/vault.git" : kind == .webDAV ? "there/vault" : "there") }

  func carrier(of machine: String = "desk", _ more: [String] = []) throws -> any Carrier {
    let own = folder.path.appending("carrier-\(machine)")
    switch kind {
    case .folder: return FolderCarrier(there)
    case .gitPath, .gitHTTP, .gitSSH:
      let address =
        switch kind {
        case .gitPath: there.string
        case .gitHTTP: "http://127.0.0.1:\(server?.port ?? 0)/vault.git"
        default: "ssh://127.0.0.1:\(server?.port ?? 0)\(there)"
        }
      return try GitCarrier(
        address, isPath: kind == .gitPath, folder: own, groups: { Sample.groups(of: $0) }, settings: settings + more)
    case .command: return try ProgramCarrier(command: folder.path.appending("carry").string, folder: own)
    case .rclone: return try ProgramCarrier(rclone: "store:\(there)", folder: own, settings: settings)
    case .webDAV: return try ProgramCarrier(rclone: "store:vault", folder: own, settings: settings)
    case .s3: return try ProgramCarrier(rclone: "store:bucket/vault", folder: own, settings: settings)
    }
  }

  func pieces(_ name: String) throws -> PieceFolder { try PieceFolder(folder.path.appending("pieces-\(name)")) }

  /// git's own check of a repository, and the subjects of the branch's commits, the newest first.
  func checkedHistory() throws -> [String] {
    let checked = try Self.run(["git", "-C", there.string, "fsck", "--strict", "--no-dangling"])
    let faults = checked.split(separator: "\n").filter { !$0.hasPrefix("notice:") }
    #expect(faults.isEmpty, "\(checked)")
    return try Self.run(["git", "-C", there.string, "log", "--format=%s", "coffer"]).split(separator: "\n").map(String.init)
  }

  /// A program of the user's over `there`, as the documentation has it.
  private static let script = """
    #!/bin/sh
    there=$(dirname "$0")/there
    case $1 in
      list) cd "$there" && find . -type f | sed 's|^\\./||' ;;
      get) while read -r name; do if [ -f "$there/$name" ]; then cp "$there/$name" "$3/$name" || exit 1; fi; done <"$2" ;;
      put) mkdir -p "$there/h" "$there/o" && while read -r name; do
        cp "$3/$name" "$there/.new-$$" && mv "$there/.new-$$" "$there/$name" || exit 1
      done <"$2" ;;
      delete) while read -r name; do rm -f "$there/$name"; done <"$2" ;;
    esac
    """

  static func write(_ text: String, to path: FilePath, mode: mode_t) throws {
    // A child that another thread forks meanwhile holds what is open for writing here, and the kernel runs no such program.
    guard mode & 0o100 == 0 else {
      let draft = path.appending(suffix: ".draft")
      try write(text, to: draft, mode: 0o600)
      try run(["install", "-m", String(mode, radix: 8), draft.string, path.string])
      return
    }
    try text.write(toFile: path.string, atomically: false, encoding: .utf8)
    try #require(chmod(path.string, mode) == 0)
  }

  static func need(_ program: String) throws {
    let found = ["/usr/bin", "/usr/sbin", "/usr/local/bin"].contains { access("\($0)/\(program)", X_OK) == 0 }
    guard found else { try Test.skip(without: program) }
  }

  @discardableResult
  static func run(_ words: [String]) throws -> String {
    try need(words[0])
    let end = try end(of: words)
    try #require(end.status == 0, "\(words): \(end.text)")
    return end.text
  }

  static func end(of words: [String]) throws -> (status: Int32, text: String) {
    let process = Process(), output = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = words
    (process.standardOutput, process.standardError, process.standardInput) = (output, output, FileHandle.nullDevice)
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return (process.terminationStatus, text)
  }
}

/// A program of Python's that prints its port, and ends with its input: with this object, or with the process.
final class Server: @unchecked Sendable {
  let port: Int
  private let process = Process()
  private let input = Pipe()

  init(_ script: String, _ words: [String]) throws {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let output = Pipe(), path = folder.appendingPathComponent("Servers/\(script)").path
    process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
    process.arguments = [path] + words
    process.environment = ["PATH": "/usr/bin:/bin", "PYTHONPATH": "/usr/local/lib/coffer-tests"]
    (process.standardInput, process.standardOutput, process.standardError) = (input, output, FileHandle.nullDevice)
    try process.run()
    port = try Self.port(output.fileHandleForReading.availableData, script)
  }

  private static func port(_ line: Data, _ script: String) throws -> Int {
    let number = Int(String(decoding: line, as: UTF8.self).trimmingCharacters(in: .newlines))
    guard let number else { try Test.skip(without: "\(script)'s libraries") }
    return number
  }

  /// sshd, which is ended by a shell.
  init(_ command: [String], port: Int) throws {
    self.port = port
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", "\"$@\" </dev/null >/dev/null 2>&1 & read how; kill -KILL $!", "sh"] + command
    process.standardInput = input
    try process.run()
  }

  /// Both end with their input. A shell that were killed would leave sshd behind.
  deinit {
    do { try input.fileHandleForWriting.close() } catch { print("left behind: process \(process.processIdentifier): \(error)") }
  }
}

/// OpenSSH's server for this user, with keys of its own.
struct SSHServer {
  let server: Server
  let command: String

  init(in folder: FilePath) throws {
    try Remote.need("sshd")
    for name in ["host", "user"] {
      try Remote.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder.appending(name).string])
    }
    try FileManager.default.copyItem(atPath: folder.appending("user.pub").string, toPath: folder.appending("authorized").string)
    if getuid() == 0 { mkdir("/run/sshd", 0o755) }
    // Free a moment ago.
    var port: UInt16 = 0
    let listening = coffer_loopback_listen(&port)
    try #require(listening >= 0)
    close(listening)
    let lines = [
      "HostKey \(folder.appending("host"))", "AuthorizedKeysFile \(folder.appending("authorized"))", "StrictModes no",
      "ListenAddress 127.0.0.1:\(port)", "PermitRootLogin yes", "PasswordAuthentication no", "PidFile none", "UsePAM no",
    ]
    try Remote.write(lines.joined(separator: "\n") + "\n", to: folder.appending("sshd_config"), mode: 0o600)
    server = try Server(["/usr/sbin/sshd", "-D", "-f", folder.appending("sshd_config").string], port: Int(port))
    command =
      "ssh -F none -i \(folder.appending("user")) -o IdentitiesOnly=yes -o StrictHostKeyChecking=no "
      + "-o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
    let words = "\(command) -p \(port) 127.0.0.1 true"
    try eventually("sshd answers") { try Remote.end(of: ["sh", "-c", words]).status == 0 }
  }
}

/// Pieces of no vault: a head lists its groups as lines of a number and a hash.
struct Sample {
  let head: HeadName
  let groups: [PieceName]

  /// Writes a head with the groups of `contents` by their numbers.
  init(_ generation: UInt64, _ contents: [Int: [UInt8]], in folder: PieceFolder) throws {
    var lines = ["generation \(generation)"]
    var names: [PieceName] = []
    for (number, bytes) in contents.sorted(by: { $0.key < $1.key }) {
      let hash = PlainHash.digest(bytes)
      try folder.write(bytes, as: .group(hash))
      lines.append("\(number) \(hash)")
      names.append(.group(hash))
    }
    let bytes = Array(lines.joined(separator: "\n").utf8)
    head = HeadName(generation: generation, hash: PlainHash.digest(bytes))
    groups = names
    try folder.write(bytes, as: .head(head))
  }

  static func groups(of head: [UInt8]) -> [(number: Int, group: Digest32)] {
    String(decoding: head, as: UTF8.self).split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ")
      guard words.count == 2, let number = Int(words[0]), let hash = PieceName("o/\(words[1])"), case .group(let group) = hash
      else { return nil }
      return (number, group)
    }
  }

  static func content(_ seed: UInt8, _ count: Int = 5_000) -> [UInt8] {
    var state = UInt64(seed) &+ 1
    return (0..<count).map { _ in
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return UInt8(truncatingIfNeeded: state >> 33)
    }
  }
}

extension Carrier {
  func missing(_ names: [PieceName], into folder: PieceFolder) throws -> [PieceName] {
    try get(names, into: folder)
    return try names.filter { try !folder.has($0) }
  }

  func put(_ sample: Sample, from folder: PieceFolder, over heads: [HeadName] = [], anew: Bool = false) throws -> Bool {
    try put(sample.groups, sample.head, from: folder, over: heads, anew: anew)
  }
}
