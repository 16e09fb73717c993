import CofferMemory
import Foundation
import Testing

@testable import CofferVault

/// Published vectors: short ones in the package, large sets next to it.
enum Vectors {
  static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  static func fixture<Content: Decodable>(_ name: String, as type: Content.Type = Content.self) throws -> Content {
    try JSONDecoder().decode(Content.self, from: Data(contentsOf: root.appending(path: "Fixtures/Vectors/\(name)")))
  }

  /// The large sets: `COFFER_VECTORS`, or `../shared/vectors` next to the package.
  static let shared =
    ProcessInfo.processInfo.environment["COFFER_VECTORS"].map { URL(filePath: $0) }
    ?? root.deletingLastPathComponent().appending(path: "shared/vectors")

  static let hasShared: Bool = {
    let isThere = FileManager.default.fileExists(atPath: shared.appending(path: "oracle.json").path)
    if !isThere { print("SKIPPED: the large vector sets are not at \(shared.path); set COFFER_VECTORS to their folder") }
    return isThere
  }()

  static let missing: Comment = "the large vector sets are not beside the package"

  static func large<Content: Decodable>(_ name: String, as type: Content.Type = Content.self) throws -> Content {
    try JSONDecoder().decode(Content.self, from: Data(contentsOf: shared.appending(path: name)))
  }
}

struct HexBytes: Decodable, Equatable, ExpressibleByStringLiteral {
  let bytes: [UInt8]

  init(stringLiteral text: String) { bytes = Self.decode(text) ?? [] }

  init(from decoder: any Decoder) throws {
    let text = try decoder.singleValueContainer().decode(String.self)
    guard let bytes = Self.decode(text) else {
      throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "not hexadecimal"))
    }
    self.bytes = bytes
  }

  static func decode(_ text: String) -> [UInt8]? {
    let digits = text.utf8.compactMap { UInt8(String(UnicodeScalar($0)), radix: 16) }
    guard digits.count == text.utf8.count, digits.count % 2 == 0 else { return nil }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }

  func with<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try bytes.span.bytes.withUnsafeBytes(body)
  }

  func secret() throws -> SecretBytes { try SecretBytes(bytes) }
}

extension SecretBytes {
  init(_ bytes: [UInt8]) throws {
    self = try bytes.span.bytes.withUnsafeBytes { (bytes) throws(SecretMemoryError) in try SecretBytes(copying: bytes) }
  }
  init(_ text: String) throws { try self.init([UInt8](text.utf8)) }
  var revealed: [UInt8] { withUnsafeBytes { [UInt8]($0) } }
}
