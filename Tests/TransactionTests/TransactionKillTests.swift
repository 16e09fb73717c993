import CofferTestSupport
import CofferMemory
import CofferPostgres
import CofferStorage
import CofferVault
import Foundation
import SystemPackage
import Testing

/// The process of a transaction over both stores is killed. Then a process without a passphrase reads the plain keys, to
/// compare with the vault.
@Suite(.tags(.campaign, .kill, .process), .wholeRun)
struct TransactionKillTests {
  /// The step at which the process dies, and whether the transaction has then happened.
  static let steps: [(name: String, happened: Bool)] = [
    ("recordCopied", false), ("prepared", false), ("beforeVaultCommit", false), ("afterVaultCommit", true),
    ("decided", true), ("committed", true), ("commitDurable", true), ("beforeForget", true), ("afterForget", true),
  ]

  @Test(arguments: steps) func `a killed transaction happened in both stores or in neither`(
    step: (name: String, happened: Bool)
  ) throws {
    let home = try Home()
    #expect(try home.run("transact", home.path, home.keyFile, "old").status == 0)
    let killed = try home.run("transact", home.path, home.keyFile, "new", step.name)
    #expect(killed.status == SIGKILL, "dies at \(step.name)")
    #expect(!killed.output.contains("acknowledged"))
    try home.expectAgreement(on: [step.happened ? "new" : "old"])
    #expect(try home.run("transact", home.path, home.keyFile, "newer").status == 0)
    try home.expectAgreement(on: ["newer"])
  }

  @Test func `killed at any system call both stores agree`() throws {
    try Tracing.need()
    let long = Campaign.isLong
    var outcomes: [String: Int] = [:]
    for call in Home.calls {
      for number in stride(from: 1, to: 2000, by: long ? 1 : 9) {
        let home = try Home()
        #expect(try home.run("transact", home.path, home.keyFile, "old").status == 0)
        let status = try home.traced(killedAt: number, of: call, "transact", home.path, home.keyFile, "new")
        let agreed = try home.expectAgreement(on: status == 0 ? ["new"] : ["old", "new"])
        outcomes[status == 0 ? "ran to its end" : "killed, both \(agreed)", default: 0] += 1
        if status == 0 { break }
      }
    }
    print("kills at system calls of a transaction: \(outcomes.sorted { $0.key < $1.key })")
    #expect((outcomes["killed, both old"] ?? 0) > 0)
    #expect((outcomes["killed, both new"] ?? 0) > 0)
    #expect(outcomes["ran to its end"] == Home.calls.count)
  }
}

/// A folder with a vault, its key file and a plain domain, and the tool that uses them.
final class Home {
  private let folder: TestFolder
  var path: String { folder.path.string }
  let keyFile: String
  let place: VaultPlace
  // The test bundle is next to the tools.
  private static let tool = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().path

  init(on url: String? = nil) throws {
    PostgresVaults.use()
    folder = try TestFolder("transaction")
    if let url { try Data(url.utf8).write(to: URL(fileURLWithPath: folder.path.string + "/place")) }
    place = url.map { VaultPlace($0) } ?? .file(folder.path.appending("vault.sqlite"))
    keyFile = folder.path.string + "/key"
    let key = try KeyFile.generate()
    try key.withUnsafeBytes { try Data($0).write(to: URL(fileURLWithPath: keyFile)) }
    _ = try UnlockedVault.create(at: place, with: Credentials(keyFile: key), options: .withoutPins).lock()
  }

  var vaultPath: FilePath { FilePath(path).appending("vault.sqlite") }

  /// The plain keys, read without a passphrase, equal the token, which is one of `allowed` if given.
  @discardableResult
  func expectAgreement(on allowed: [String]?, _ location: SourceLocation = #_sourceLocation) throws -> String {
    let read = try run("read-preferences", path)
    #expect(read.status == 0, "\(read.output)", sourceLocation: location)
    let plain = read.output.split(separator: "\n").map(String.init)
    let key = try Data(contentsOf: URL(fileURLWithPath: keyFile)).bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
    let vault = try LockedVault.open(place, options: .withoutPins).unlock(with: Credentials(keyFile: key))
    let form = try vault.get(ItemName(service: "app", account: "token"))
    let token = form.map { form in form.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } } ?? "absent"
    #expect(plain == [token, token], "plain \(plain), vault \(token)", sourceLocation: location)
    #expect(allowed?.contains(token) ?? true, sourceLocation: location)
    _ = try vault.verify()
    return token
  }

  func run(_ arguments: String...) throws -> (status: Int32, output: String) {
    try Self.run(Self.toolPath, arguments)
  }

  /// Calls that change a file; strace counts each separately.
  static let calls = ["pwrite64", "fsync", "fdatasync", "ftruncate", "fallocate", "unlink", "rename", "renameat2"]

  func traced(killedAt number: Int, of call: String, _ arguments: String...) throws -> Int32 {
    try Self.run(
      "/usr/bin/strace",
      ["-f", "-o", "/dev/null", "-e", "trace=\(call)", "-e", "inject=\(call):signal=SIGKILL:when=\(number)"]
        + [Self.toolPath] + arguments
    ).status
  }

  static var toolPath: String { tool + "/TestTool" }

  static func run(_ program: String, _ arguments: [String]) throws -> (status: Int32, output: String) {
    let process = Process()
    let pipe = Pipe()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: output, as: UTF8.self))
  }
}
