internal import CCofferLibraries
internal import Coffer
internal import CofferMemory

/// Unpacks a gzip file by zlib, which is loaded on demand. With room for the whole file zlib keeps no window of it in memory of
/// its own.
enum Gzip {
  /// - Throws: `.tooLarge` for a file that unpacks to more than `limit` bytes, before it is unpacked; `.notFound` without zlib.
  static func unpack(_ packed: borrowing SecretBytes, limit: Int) throws -> SecretBytes? {
    let count = packed.withUnsafeBytes { raw -> Int? in
      guard raw.count >= 18, raw.starts(with: [0x1F, 0x8B, 8, 0]) else { return nil }
      // The file's own word for it, in its last four bytes: zlib checks it.
      return Int(UInt32(littleEndian: raw.loadUnaligned(fromByteOffset: raw.count - 4, as: UInt32.self)))
    }
    guard let count else { return nil }
    guard count <= limit else { throw tooLarge(limit) }
    var reason: UnsafePointer<CChar>?
    guard let library = coffer_libz_load(&reason)?.pointee else {
      throw StoreError(
        .notFound, "zlib, which unpacks the file, is not installed (\(reason.map { String(cString: $0) } ?? ""))",
        cure: "install zlib1g")
    }
    var bytes = try SecretBytes(zeros: count)
    let isWhole = packed.withUnsafeBytes { raw in
      bytes.withUnsafeMutableBytes { out in
        var stream = coffer_zstream()
        stream.next_in = raw.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.next_out = out.baseAddress?.assumingMemoryBound(to: UInt8.self)
        (stream.avail_in, stream.avail_out) = (UInt32(raw.count), UInt32(out.count))
        let size = Int32(MemoryLayout<coffer_zstream>.size)
        guard library.begin(&stream, Int32(COFFER_Z_GZIP), "1", size) == 0 else { return false }
        defer { _ = library.end(&stream) }
        let end = library.inflate(&stream, Int32(COFFER_Z_FINISH))
        return end == Int32(COFFER_Z_STREAM_END) && stream.avail_in == 0 && stream.avail_out == 0
      }
    }
    guard isWhole else { return nil }
    return consume bytes
  }

  static func tooLarge(_ limit: Int) -> StoreError {
    StoreError(.tooLarge(limit: limit), "the file has more than \(limit) bytes", cure: "store it elsewhere")
  }
}
