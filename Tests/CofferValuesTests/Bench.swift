internal import CofferTestSupport
internal import Coffer
internal import CofferStorage
internal import Foundation
internal import Testing

final class Bench: Sendable {
  private let folder: TestFolder
  let places: Places
  let vault: VaultStore
  static let domain = "com.example.app"

  init() throws {
    folder = try TestFolder("values")
    places = Places(home: folder.path)
    try FileManager.default.createDirectory(
      atPath: places.defaults.string, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    let unlocked = try UnlockedVault.create(
      at: places.vault, with: Self.credentials(), cost: .testing, options: places.vaultOptions)
    vault = try VaultStore(service: Self.domain, vault: unlocked)
  }

  static func credentials() throws -> Credentials { Credentials(passphrase: try secret("correct horse")) }

  static func secret(_ text: String) throws -> SecretBytes {
    try text.utf8Span.span.bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
  }

  func defaults(
    _ name: String = domain, suites: [String] = [], arguments: [String] = [], prefix: String = ""
  ) throws -> DefaultsStore {
    try DefaultsStore.open(domain: name, in: places.defaults, suites: suites, arguments: arguments, prefix: prefix)
  }

  func app(_ spaces: any KeySpace...) throws -> StorageRouter {
    try StorageRouter(plain: defaults(), vault: vault, spaces: spaces)
  }

  func unlock() throws { try vault.unlock(with: Self.credentials()) }

  func plainBytes() throws -> Data {
    var all = Data()
    for name in try FileManager.default.contentsOfDirectory(atPath: places.defaults.string) {
      all += try Data(contentsOf: URL(filePath: places.defaults.appending(name).string))
    }
    return all
  }
}

final class Owner: Sendable {}

final class Lines: TextOutputStream, Sendable {
  private let text = Collected<String>()
  func write(_ string: String) { text.add(string) }
  var all: [String] { text.all.joined().split(separator: "\n").map(String.init) }
}

struct Space<V: Sendable, R: Route>: KeySpace {
  let key: StorageKey<V, R>
  init(_ key: StorageKey<V, R>) { self.key = key }
}

enum OtherProcess {
  @discardableResult
  static func run(_ command: String, _ bench: Bench, _ rest: String..., domain: String = Bench.domain) throws -> String {
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
      .appending(path: "TestTool")
    process.arguments = [command, bench.places.defaults.string, domain] + rest
    let home = bench.places.defaults.string
    process.environment = Sanitizing.environment.merging(["XDG_CONFIG_HOME": home, "HOME": home]) { $1 }
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(text)")
    return text.trimmingCharacters(in: .newlines)
  }
}
