internal import CofferPlatform

/// The asking ssh's version, read from its program.
///
/// Before 8.5 it forwards a server's question unchanged, which then looks like its own. Source: OpenSSH 8.5, release notes.
enum AskingSSH {
  private static let first = (8, 5)
  /// Bytes of a program to read, at most: ssh has one MiB.
  private static let most = 8 << 20

  /// False for any other or unreadable program.
  static func isTooOld(_ process: Int32 = getppid()) -> Bool {
    let descriptor = coffer_open("/proc/\(process)/exe", O_RDONLY | O_CLOEXEC, 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var program = [UInt8](repeating: 0, count: most)
    return program.withUnsafeMutableBytes { raw in
      var count = 0
      while case let got = systemRead(descriptor, raw.baseAddress.map { $0 + count }, raw.count - count), got > 0 { count += got }
      return isTooOld(UnsafeRawBufferPointer(rebasing: raw[..<count]))
    }
  }

  /// Its own version reads `OpenSSH_9.2p1`; the patterns for other versions have no `p` there.
  static func isTooOld(_ program: UnsafeRawBufferPointer) -> Bool {
    let name = "OpenSSH_".utf8
    var rest = program
    while let start = rest.baseAddress, let found = memchr(start, Int32(UInt8(ascii: "O")), rest.count) {
      rest = UnsafeRawBufferPointer(rebasing: rest[(UnsafeRawPointer(found) - start)...])
      defer { rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst()) }
      guard rest.starts(with: name) else { continue }
      let parts = String(decoding: rest.dropFirst(name.count).prefix(8), as: UTF8.self).split(separator: "p", maxSplits: 1)
      let numbers = parts.first?.split(separator: ".").compactMap { Int($0) } ?? []
      if parts.count == 2, numbers.count == 2, (numbers[0], numbers[1]) < first { return true }
    }
    return false
  }
}
