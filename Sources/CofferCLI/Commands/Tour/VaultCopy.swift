internal import Coffer
internal import FoundationEssentials
internal import SystemPackage

/// A second home that holds a copy of a vault, one byte of which can be changed at a time.
struct VaultCopy {
  let home: FilePath
  let size: Int
  private let path: FilePath
  private let original: Data

  /// Nothing may have the vault open.
  init(of places: Places, in home: FilePath) throws {
    self.home = home
    path = Places(home: home).vault
    try FileManager.default.createDirectory(atPath: path.removingLastComponent().string, withIntermediateDirectories: true)
    for suffix in ["", "-wal"] {
      let source = places.vault.string + suffix
      guard let bytes = FileManager.default.contents(atPath: source) else { continue }
      try Self.write(bytes, to: FilePath(path.string + suffix))
    }
    original = FileManager.default.contents(atPath: path.string) ?? Data()
    size = original.count
  }

  /// Where a flip is likely to hit a record: SQLite fills a page of 4 096 bytes from its end.
  var candidates: [Int] { stride(from: size - 20, to: 0, by: -4096).map(\.self) }

  /// Changes the byte at `offset`, and no other.
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
