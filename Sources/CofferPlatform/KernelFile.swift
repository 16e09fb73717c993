package import SystemPackage

/// The small kernel files about a process and its machine.
package enum KernelFile {
  /// Files under /proc and /sys/fs/cgroup are smaller.
  private static let longest = 64 * 1024

  /// The content of a file; nil if unreadable, as for a missing limit.
  package static func text(_ path: String) -> String? {
    do {
      // A FilePath looks for repeated separators: in a debug build that took 5 % of a whole `coffer get`.
      let file = try path.withCString { try FileDescriptor.open($0, .readOnly, options: .closeOnExec) }
      return try file.closeAfter {
        try String(unsafeUninitializedCapacity: longest) { try file.fill(UnsafeMutableRawBufferPointer($0)) }
      }
    } catch {
      return nil
    }
  }

  /// The number on the line that begins with `name`. The lines after it are not looked at: an agent reads a user at each use.
  package static func number(_ name: String, in text: String) -> Int? {
    var rest = text.utf8[...]
    while !rest.isEmpty {
      let line = rest.prefix { $0 != UInt8(ascii: "\n") }
      if line.starts(with: name.utf8) {
        let words = line.dropFirst(name.utf8.count).split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        return words.first.flatMap { Int(Substring($0)) }
      }
      rest = rest.dropFirst(line.count + 1)
    }
    return nil
  }

  /// Compares bytes: each unlocking reads four such files, and characters took 5 % of a whole `coffer get`.
  package static func lines(_ text: String) -> [Substring] {
    text.utf8.split(separator: UInt8(ascii: "\n")).map { Substring($0) }
  }
}

extension FileDescriptor {
  /// Reads until `bytes` are full or the file ends; the count of bytes read.
  package func fill(_ bytes: UnsafeMutableRawBufferPointer) throws -> Int {
    var count = 0
    while count < bytes.count, case let got = try read(into: UnsafeMutableRawBufferPointer(rebasing: bytes[count...])), got > 0 {
      count += got
    }
    return count
  }
}
