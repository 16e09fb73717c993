internal import CCofferLibraries
package import Coffer
internal import CofferPlatform

/// A ZIP archive, read by libzip, which is loaded on demand.
///
/// libzip unpacks through its own memory, which is never wiped; the archive itself is in the clear, too.
package struct ZipArchive: ~Copyable {
  private let library: coffer_libzip
  private let archive: OpaquePointer
  private let path: String

  /// Whether `head` begins a ZIP archive, with files or empty. Source: APPNOTE.TXT of PKWARE, sections 4.3.7 and 4.3.16.
  package static func isMeant(by head: UnsafeRawBufferPointer) -> Bool {
    head.starts(with: [0x50, 0x4B, 0x03, 0x04]) || head.starts(with: [0x50, 0x4B, 0x05, 0x06])
  }

  package init(_ path: String) throws {
    let library = try Self.library(for: path)
    archive = try Self.open(path, library)
    self.library = library
    self.path = path
  }

  private static func library(for path: String) throws(StoreError) -> coffer_libzip {
    var reason: UnsafePointer<CChar>?
    if let table = coffer_libzip_load(&reason) { return table.pointee }
    throw StoreError(
      .notFound, "libzip, which unpacks the archive, is not installed (\(reason.map { String(cString: $0) } ?? ""))", place: path,
      cure: "install libzip4, libzip5 or libzip; or unzip the archive, and import its export.data with --from 1password")
  }

  private static func open(_ path: String, _ library: coffer_libzip) throws(StoreError) -> OpaquePointer {
    if let opened = library.open(path, Int32(COFFER_ZIP_RDONLY), nil) { return opened }
    throw StoreError(
      .damaged, "the ZIP archive is incomplete", place: path,
      cure: "export it again: it may have been cut; nothing was imported")
  }

  deinit { library.discard(archive) }

  package func holds(_ name: String) -> Bool { library.name_locate(archive, name, 0) >= 0 }

  /// Unpacks the file `name` into guarded memory.
  ///
  /// - Throws: `.damaged` if it is missing or its checksum is wrong; `.tooLarge` past `limit` bytes, whatever size the
  ///   archive gives.
  package func content(_ name: String, limit: Int) throws -> SecretBytes {
    let index = library.name_locate(archive, name, 0)
    guard index >= 0, let file = library.fopen_index(archive, UInt64(index), 0) else {
      throw damaged("the archive has no '\(name)' that can be read")
    }
    defer { _ = library.fclose(file) }
    var buffer = try SecretBytes(zeros: 1 << 16)
    var count = 0
    while true {
      let capacity = buffer.count
      let got = buffer.withUnsafeMutableBytes { raw in
        raw.baseAddress.map { library.fread(file, $0 + count, UInt64(capacity - count)) } ?? -1
      }
      guard got >= 0 else { throw damaged("'\(name)' cannot be unpacked") }
      guard got > 0 else { return try buffer.prefix(count) }
      count += Int(got)
      guard count <= limit else {
        throw StoreError(
          .tooLarge(limit: limit), "'\(name)' unpacks to more than \(limit) bytes", place: path,
          cure: "export fewer vaults at a time; nothing was imported")
      }
      guard count == capacity else { continue }
      var larger = try SecretBytes(zeros: min(capacity * 2, limit + 1))
      buffer.withUnsafeBytes { old in larger.withUnsafeMutableBytes { $0.copyMemory(from: old) } }
      buffer = larger
    }
  }

  private func damaged(_ what: String) -> StoreError {
    StoreError(.damaged, what, place: path, cure: "export it again; nothing was imported")
  }
}
