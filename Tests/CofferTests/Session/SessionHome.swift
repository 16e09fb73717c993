import CofferTestSupport
import Coffer
import CofferVault
import CofferStorage
import Foundation
import Synchronization
import SystemPackage
import Testing

struct SessionKeySpace: KeySpace {
  let user = StorageKey("user", of: String.self).endsWithSession()
  let recent = StorageKey("recent", default: [String]()).endsWithSession()
  let theme = StorageKey("theme", default: "light")
  let token = StorageKey("token", secret: String.self).endsWithSession()
  let renewal = StorageKey("renewal", secret: String.self).endsWithSession()
  let device = StorageKey("device", secret: String.self)
}

/// A folder with a vault, its key file and a plain domain, and the tool that uses them as another process.
final class SessionHome: Sendable {
  private let folder: TestFolder
  var path: String { folder.path.string }
  let places: Places
  let keys = SessionKeySpace()
  // The test bundle is next to the tools.
  private static let tool = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().path + "/TestTool"

  private let environment: [String: String]?

  /// - Parameter inStandardPlaces: whether the places are the XDG directories instead of one folder.
  init(inStandardPlaces: Bool = false) throws {
    folder = try TestFolder("session")
    let path = folder.path.string
    let variables = ["HOME": path, "XDG_DATA_HOME": path + "/share", "XDG_CONFIG_HOME": path + "/config"]
    environment = inStandardPlaces ? variables : nil
    places = inStandardPlaces ? try Places.standard { variables[$0] } : Places(home: FilePath(path))
    if inStandardPlaces {
      for folder in ["/share", "/config"] {
        try FileManager.default.createDirectory(
          atPath: path + folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
      }
    }
    let key = try KeyFile.generate()
    try key.withUnsafeBytes { try Data($0).write(to: URL(filePath: path + "/key")) }
    _ = try UnlockedVault.create(at: places.vault, with: Credentials(keyFile: key), options: places.vaultOptions).lock()
  }

  func credentials() throws -> Credentials {
    let key = try Data(contentsOf: URL(fileURLWithPath: path + "/key"))
    return Credentials(keyFile: try key.bytes.withUnsafeBytes { try SecretBytes(copying: $0) })
  }

  func open() throws -> (app: StorageRouter, vault: VaultStore) {
    let vault = try VaultStore(service: "app", vault: places.openVault())
    try vault.unlock(with: credentials())
    return (try StorageRouter.open("app", keys: keys, vault: vault, places: places), vault)
  }

  func session(_ app: StorageRouter) throws -> Session<String> {
    try app.session(user: keys.user, credential: keys.token)
  }

  static func loggedIn() throws -> (home: SessionHome, app: StorageRouter, session: Session<String>) {
    let home = try SessionHome()
    let (app, _) = try home.open()
    let session = try home.session(app)
    try home.login(session, "ada")
    return (home, app, session)
  }

  func login(_ session: Session<String>, _ user: String) throws {
    try session.login(as: user) { transaction in
      try transaction.set(Sealed("\(user)-token"), for: keys.token)
      try transaction.set(Sealed("\(user)-renewal"), for: keys.renewal)
      try transaction.set([user], for: keys.recent)
      try transaction.set("theme of \(user)", for: keys.theme)
    }
  }

  /// How many renewals of other processes have begun.
  var renewals: Int { lines(of: "renewals") }
  var asked: Int { lines(of: "asked") }

  private func lines(of name: String) -> Int {
    let text = try? String(contentsOfFile: path + "/" + name, encoding: .utf8)
    return text?.split(separator: "\n").count ?? 0
  }

  /// Makes the renewals of other processes last until ``release()``.
  func hold() throws { try Data().write(to: URL(fileURLWithPath: path + "/hold")) }
  func release() throws { try FileManager.default.removeItem(atPath: path + "/hold") }

  @discardableResult
  func run(_ arguments: String...) throws -> (status: Int32, output: String) {
    try Self.wait(start(Self.tool, arguments))
  }

  /// Starts the tool; ``finish(_:)`` waits for it.
  func start(_ arguments: String..., environment more: [String: String] = [:]) throws -> (process: Process, pipe: Pipe) {
    try start(Self.tool, arguments, environment.map { $0.merging(more) { $1 } })
  }

  func finish(_ started: (process: Process, pipe: Pipe)) throws -> (status: Int32, output: String) {
    try Self.wait(started)
  }

  private func start(
    _ program: String, _ arguments: [String], _ environment: [String: String]? = nil
  ) throws -> (process: Process, pipe: Pipe) {
    let process = Process()
    let pipe = Pipe()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    if let environment = environment ?? self.environment { process.environment = environment }
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    return (process, pipe)
  }

  private static func wait(_ started: (process: Process, pipe: Pipe)) throws -> (status: Int32, output: String) {
    let output = started.pipe.fileHandleForReading.readDataToEndOfFile()
    started.process.waitUntilExit()
    return (started.process.terminationStatus, String(decoding: output, as: UTF8.self))
  }

  /// Calls that change a file; strace counts each separately.
  static let calls = ["pwrite64", "fsync", "fdatasync", "ftruncate", "fallocate", "unlink", "rename", "renameat2"]

  func traced(killedAt number: Int, of call: String, _ arguments: String...) throws -> Int32 {
    let strace = ["-f", "-o", "/dev/null", "-e", "trace=\(call)", "-e", "inject=\(call):signal=SIGKILL:when=\(number)"]
    return try Self.wait(start("/usr/bin/strace", strace + [Self.tool] + arguments)).status
  }

  /// Kills the tool on entering its `number`th sync of the vault's log, while another process has both stores open, settles
  /// the transaction and is killed too. So nobody closes the log in order.
  func killedAtSync(_ number: Int, _ arguments: String...) throws -> Int32 {
    let (settler, input, output) = (Process(), Pipe(), Pipe())
    settler.executableURL = URL(fileURLWithPath: Self.tool)
    settler.arguments = ["settle", path]
    settler.standardInput = input
    settler.standardOutput = output
    try settler.run()
    #expect(String(decoding: output.fileHandleForReading.availableData, as: UTF8.self) == "open\n")
    let strace = [
      "-f", "-o", "/dev/null", "-P", places.vault.description + "-wal", "-e", "trace=fdatasync", "-e",
      "inject=fdatasync:signal=SIGKILL:when=\(number)",
    ]
    let status = try Self.wait(start("/usr/bin/strace", strace + [Self.tool] + arguments)).status
    try input.fileHandleForWriting.write(contentsOf: Data("settle\n".utf8))
    #expect(String(decoding: output.fileHandleForReading.availableData, as: UTF8.self) == "settled\n")
    kill(settler.processIdentifier, SIGKILL)
    settler.waitUntilExit()
    return status
  }

  /// Both stores' agreed state of the session: nil for logged out, otherwise the user and the token.
  ///
  /// A process without a passphrase reads the plain keys.
  func agreement(_ location: SourceLocation = #_sourceLocation) throws -> (user: String, token: String)? {
    let read = try run("read-session", path)
    #expect(read.status == 0, "\(read.output)", sourceLocation: location)
    let plain = read.output.split(separator: "\n").map(String.init)
    let vault = try places.openVault().unlock(with: credentials())
    func text(_ account: String) throws -> String? {
      let form = try vault.get(ItemName(service: "app", account: account))
      return form.map { form in form.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
    }
    let (token, renewal) = (try text("token"), try text("renewal"))
    _ = try vault.verify()
    guard let token else {
      #expect(plain.prefix(2) == ["absent", "absent"] && renewal == nil, "\(plain)", sourceLocation: location)
      return nil
    }
    let user = try #require(plain.first, sourceLocation: location)
    #expect(plain == [user, "1 of \(user)", "theme of \(user)"], sourceLocation: location)
    #expect(token.hasPrefix(user + "-") && renewal == "\(user)-renewal", sourceLocation: location)
    return (user, token)
  }
}

/// A task waits here until a test opens it, even if the task is cancelled meanwhile.
final class Gate: Sendable {
  private let state = Mutex((isOpen: false, waiting: [CheckedContinuation<Void, Never>]()))

  func pass() async {
    await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        if !state.isOpen { state.waiting.append(continuation) }
        return state.isOpen
      }
      if isOpen { continuation.resume() }
    }
  }

  func open() {
    let waiting = state.withLock { state in
      defer { state = (true, []) }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }
}

final class Counter: Sendable {
  private let count = Mutex(0)
  var value: Int { count.withLock { $0 } }
  @discardableResult
  func next() -> Int {
    count.withLock { count in
      count += 1
      return count
    }
  }
}
