import Coffer
import Foundation
import Testing

@testable import CofferCLI

extension Home {
  static func secret(_ bytes: Data) throws -> SecretBytes {
    try bytes.span.bytes.withUnsafeBytes { raw in try SecretBytes(copying: raw) }
  }

  static func secret(_ text: String) throws -> SecretBytes {
    try text.utf8Span.span.bytes.withUnsafeBytes { raw in try SecretBytes(copying: raw) }
  }

  /// A folder on PATH with this program under other programs' helper names.
  func withHelpers() throws {
    let bin = path + "/bin"
    try FileManager.default.createDirectory(atPath: bin, withIntermediateDirectories: true)
    for name in ["coffer", "keyring"] + ProgramName.helpers.keys {
      try FileManager.default.createSymbolicLink(atPath: "\(bin)/\(name)", withDestinationPath: Self.coffer)
    }
    environment["PATH"] = "\(bin):/usr/local/bin:/usr/bin:/bin"
  }

  /// Runs another program in this home's environment; nil if it is not installed.
  func program(
    _ words: [String], in input: String = "", with variables: [String: String] = [:]
  ) throws -> (status: Int32, out: String, err: String)? {
    let folders = words[0].hasPrefix("/") ? [""] : (environment["PATH"] ?? "").split(separator: ":").map { $0 + "/" }
    let files = folders.map { $0 + words[0] }
    guard let file = files.first(where: { access($0, X_OK) == 0 }) else { return nil }
    let id = UUID().uuidString
    let given = try self.file(".run/\(id).in", input)
    let (out, err) = (try self.file(".run/\(id).out"), try self.file(".run/\(id).err"))
    let child = try Child(
      Array(words.dropFirst()), environment: environment.merging(variables) { $1 },
      opening: [0: (given, O_RDONLY), 1: (out, O_WRONLY), 2: (err, O_WRONLY)], program: file)
    let status = try child.wait()
    return (status, try String(contentsOfFile: out, encoding: .utf8), try String(contentsOfFile: err, encoding: .utf8))
  }
}
