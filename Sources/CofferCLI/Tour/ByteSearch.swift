internal import Coffer
internal import CofferFormats
internal import CofferMemory
internal import FoundationEssentials
internal import SystemPackage

/// Searches files for a secret in every form that a careless program would leave.
enum ByteSearch {
  struct File {
    let path: FilePath
    let bytes: Data
  }

  static func files(under folder: FilePath) throws -> [File] {
    try FileManager.default.subpathsOfDirectory(atPath: folder.string).sorted().compactMap { name in
      let path = folder.pushing(FilePath(name))
      return FileManager.default.contents(atPath: path.string).map { File(path: path, bytes: $0) }
    }
  }

  static func text(of path: FilePath) -> String {
    String(decoding: FileManager.default.contents(atPath: path.string) ?? Data(), as: UTF8.self)
  }

  /// Finds any encoding of it.
  static func find(_ secret: borrowing SecretBytes, in files: [File]) throws -> (path: FilePath, encoding: String)? {
    for encoding in Encoding.allCases {
      let needle = try encoding.bytes(of: secret)
      for file in files where needle.withUnsafeBytes({ contains($0, in: file.bytes) }) { return (file.path, encoding.rawValue) }
    }
    return nil
  }

  private static func contains(_ needle: UnsafeRawBufferPointer, in bytes: Data) -> Bool {
    bytes.withUnsafeBytes { hay in
      guard let first = needle.first, hay.count >= needle.count else { return false }
      for start in 0...(hay.count - needle.count) where hay[start] == first {
        if UnsafeRawBufferPointer(rebasing: hay[start..<start + needle.count]).elementsEqual(needle) { return true }
      }
      return false
    }
  }

  private enum Encoding: String, CaseIterable {
    case text, lowercaseHexadecimal, uppercaseHexadecimal, base64, base64ByOne, base64ByTwo, utf16LittleEndian, utf16BigEndian

    func bytes(of secret: borrowing SecretBytes) throws -> SecretBytes {
      try secret.withUnsafeBytes { raw in
        switch self {
        case .text: try SecretBytes(copying: raw)
        case .lowercaseHexadecimal: try spread(raw) { Self.digits("0123456789abcdef", $0) }
        case .uppercaseHexadecimal: try spread(raw) { Self.digits("0123456789ABCDEF", $0) }
        // A secret's position in a longer text decides how its bits fall into digits.
        case .base64: try Self.base64(raw, skipping: 0)
        case .base64ByOne: try Self.base64(raw, skipping: 1)
        case .base64ByTwo: try Self.base64(raw, skipping: 2)
        case .utf16LittleEndian: try spread(raw) { [$0, 0] }
        case .utf16BigEndian: try spread(raw) { [0, $0] }
        }
      }
    }

    private func spread(_ raw: UnsafeRawBufferPointer, _ each: (UInt8) -> [UInt8]) throws -> SecretBytes {
      try SecretBytes.written { put in for byte in raw { each(byte).forEach(put) } }
    }

    private static func digits(_ alphabet: StaticString, _ byte: UInt8) -> [UInt8] {
      [alphabet.utf8Start[Int(byte >> 4)], alphabet.utf8Start[Int(byte & 15)]]
    }

    private static func base64(_ raw: UnsafeRawBufferPointer, skipping: Int) throws -> SecretBytes {
      let whole = (raw.count - skipping) / 3 * 3
      let encoded = Data(raw[skipping..<skipping + whole]).base64EncodedData()
      return try encoded.bytes.withUnsafeBytes { (raw) throws(SecretMemoryError) in try SecretBytes(copying: raw) }
    }
  }
}

/// A second home with a copy of a vault, one byte of which can be changed at a time.
struct VaultCopy {
  let home: FilePath
  let size: Int
  private let path: FilePath
  private let original: Data

  /// Nothing may have the vault open.
  init(of places: Places, in home: FilePath) throws {
    self.home = home
    path = try Places(home: home).vault.file()
    try FileManager.default.createDirectory(atPath: path.removingLastComponent().string, withIntermediateDirectories: true)
    for suffix in ["", "-wal"] {
      let source = places.vault.description + suffix
      guard let bytes = FileManager.default.contents(atPath: source) else { continue }
      try Self.write(bytes, to: FilePath(path.string + suffix))
    }
    original = FileManager.default.contents(atPath: path.string) ?? Data()
    size = original.count
  }

  /// Likely positions of records: SQLite fills a page of 4 096 bytes from its end.
  var candidates: [Int] { stride(from: size - 20, to: 0, by: -4096).map(\.self) }

  func flip(_ offset: Int) throws {
    var bytes = original
    bytes[offset] ^= 1
    try Self.write(bytes, to: path)
  }

  private static func write(_ bytes: Data, to path: FilePath) throws {
    let file = try FileDescriptor.open(
      path, .writeOnly, options: [.create, .truncate, .closeOnExec], permissions: .ownerReadWrite)
    try file.closeAfter { _ = try bytes.withUnsafeBytes { try file.writeAll($0) } }
  }
}
