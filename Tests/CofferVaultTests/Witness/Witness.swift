import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// The second reader and writer of the format: a Python program, `Tests/Witness`, made from VaultFormat.md alone.
struct Witness {
  /// The contents of files that open a vault. Never printed.
  struct Key: Codable, Equatable {
    var passphrase, keyFile, recovery, identity: HexBytes?

    func credentials() throws -> Credentials {
      var credentials = Credentials()
      if let passphrase { credentials.passphrase = try passphrase.secret() }
      if let keyFile { credentials.keyFile = try keyFile.secret() }
      if let recovery { credentials.recoveryCode = try recovery.secret() }
      if let identity { credentials.identity = try identity.secret() }
      return credentials
    }
  }

  struct Answer: Decodable {
    let refused: String?
    let why: String?
    let holds: WitnessedVault?

    init(from decoder: any Decoder) throws {
      let keys = try decoder.container(keyedBy: Keys.self)
      refused = try keys.decodeIfPresent(String.self, forKey: .refused)
      why = try keys.decodeIfPresent(String.self, forKey: .why)
      holds = refused == nil ? try WitnessedVault(from: decoder) : nil
    }

    private enum Keys: CodingKey { case refused, why }

    /// Expects the witness to have found the same as Coffer; a message names differing parts without content.
    func expect(_ expected: WitnessedVault, sourceLocation: SourceLocation = #_sourceLocation) {
      let isSame = holds == expected
      let parts = holds?.differences(from: expected) ?? []
      #expect(isSame, "vault \(expected.vault): \(refused ?? "read") \(why ?? "") \(parts)", sourceLocation: sourceLocation)
    }
  }

  struct Failed: Error { let what: String }

  private static let program = Vectors.root.appending(path: "Tests/Witness").path
  /// Exit code without a dependency, such as a recent Python or libsodium's shared library.
  private static let lacking: Int32 = 77

  /// Whether it runs here; otherwise the reason is printed.
  static let isThere: Bool = {
    do {
      let (code, _, error) = try run("read", input: Data())
      guard code == lacking || code == 127 else { return true }
      print("SKIPPED: the reader in Python cannot be run: \(error)")
    } catch {
      print("SKIPPED: the reader in Python cannot be run: \(error)")
    }
    return false
  }()

  static let missing: Comment = "python3 from 3.9 on, with SQLite 3.37 and libsodium's shared library, is not there"

  static func ask<Request: Encodable, Answer: Decodable>(
    _ verb: String, _ requests: [Request], as type: Answer.Type = Answer.self
  ) throws -> [Answer] {
    var input = Data()
    for request in requests {
      input += try JSONEncoder().encode(request)
      input += [UInt8(ascii: "\n")]
    }
    let (code, output, error) = try run(verb, input: input)
    guard code == 0 else { throw Failed(what: "the witness ended with \(code): \(error)") }
    let answers = try output.split(separator: UInt8(ascii: "\n")).map { try JSONDecoder().decode(Answer.self, from: $0) }
    guard answers.count == requests.count else { throw Failed(what: "\(answers.count) answers to \(requests.count) requests") }
    return answers
  }

  static func askPlainly(_ verb: String, _ request: some Encodable) throws -> [String: Any] {
    let (code, output, error) = try run(verb, input: JSONEncoder().encode(request))
    guard code == 0, let answer = try JSONSerialization.jsonObject(with: output) as? [String: Any] else {
      throw Failed(what: "the witness ended with \(code): \(error)")
    }
    return answer
  }

  static func vectors() throws -> Data {
    let (code, output, error) = try run("vectors", input: Data())
    guard code == 0 else { throw Failed(what: "the witness ended with \(code): \(error)") }
    return output
  }

  /// Its one line of output for a person who types `passphrase`, for the vault at `path`.
  static func items(of path: String, passphrase: Data) throws -> [[String: Any]] {
    let (code, output, error) = try run("items", path, input: passphrase)
    guard code == 0, let items = try JSONSerialization.jsonObject(with: output) as? [[String: Any]] else {
      throw Failed(what: "the witness ended with \(code): \(error)")
    }
    return items
  }

  /// Input and output are files, so neither side ever waits for the other.
  private static func run(_ words: String..., input: Data) throws -> (code: Int32, output: Data, error: String) {
    let folder = try TestFolder("witness")
    func file(_ name: String, _ content: Data) throws -> URL {
      let file = URL(filePath: folder.path.string).appending(path: name)
      try content.write(to: file)
      return file
    }
    let (given, out, errors) = (try file("in", input), try file("out", Data()), try file("errors", Data()))
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["python3", "-B", program] + words
    process.standardInput = try FileHandle(forReadingFrom: given)
    process.standardOutput = try FileHandle(forWritingTo: out)
    process.standardError = try FileHandle(forWritingTo: errors)
    try process.run()
    process.waitUntilExit()
    return (process.terminationStatus, try Data(contentsOf: out), String(decoding: try Data(contentsOf: errors), as: UTF8.self))
  }
}

extension HexBytes: Encodable {
  init(_ bytes: [UInt8]) { self.init(stringLiteral: Hex.text(bytes)) }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(Hex.text(bytes))
  }
}
