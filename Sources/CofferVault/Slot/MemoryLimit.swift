internal import SystemPackage

/// How much memory Argon2id may take: what is available to this process, less a reserve, so that unlocking a vault never makes the
/// kernel kill a program.
enum MemoryLimit {
  /// Left to the rest of the process.
  static let reserve = 32 * 1024 * 1024
  /// Files under /proc are small; the limit keeps a strange one from being read for ever.
  private static let longestFile = 64 * 1024

  /// Bytes that may be used now.
  static func available() -> Int {
    let groups = group(text("/proc/self/cgroup") ?? "").map(folders) ?? []
    return limit(
      available: text("/proc/meminfo").flatMap(available(meminfo:)),
      groups: groups.map { (max: text($0 + "/memory.max") ?? "", current: text($0 + "/memory.current") ?? "") },
      addressSpace: text("/proc/self/limits").flatMap(addressSpace(limits:)),
      mapped: text("/proc/self/status").flatMap(mapped(status:)) ?? 0)
  }

  /// The least of what is available to the machine, to this control group and each above it, and to the address space.
  ///
  /// - Parameter available: nil where the system does not tell; then only the other limits count.
  /// - Parameter groups: the contents of `memory.max` and `memory.current`.
  static func limit(available: Int?, groups: [(max: String, current: String)], addressSpace: Int?, mapped: Int) -> Int {
    var least = available ?? Int.max
    for group in groups {
      // "max" is no number: no limit.
      guard let max = Int(trimmed(group.max)), let current = Int(trimmed(group.current)) else { continue }
      least = min(least, max - current)
    }
    if let addressSpace { least = min(least, addressSpace - mapped) }
    return max(0, least == Int.max ? least : least - reserve)
  }

  /// `MemAvailable` of /proc/meminfo, in bytes.
  static func available(meminfo: String) -> Int? { kibibytes("MemAvailable:", in: meminfo) }

  /// `VmSize` of /proc/self/status, in bytes: what counts against the address space.
  static func mapped(status: String) -> Int? { kibibytes("VmSize:", in: status) }

  /// The soft limit of `Max address space` in /proc/self/limits; nil when unlimited.
  static func addressSpace(limits: String) -> Int? {
    let name = "Max address space"
    guard let line = lines(limits).first(where: { $0.hasPrefix(name) }) else { return nil }
    return line.dropFirst(name.count).split(separator: " ").first.flatMap { Int($0) }
  }

  /// This process's control group, of the unified hierarchy, in /proc/self/cgroup.
  static func group(_ text: String) -> String? {
    lines(text).first { $0.hasPrefix("0::/") }.map { String($0.dropFirst(3)) }
  }

  /// The folders of a group and all above it, up to the root.
  static func folders(_ group: String) -> [String] {
    let root = "/sys/fs/cgroup"
    var folder = root
    return [root]
      + group.split(separator: "/").map { part in
        folder += "/" + part
        return folder
      }
  }

  private static func kibibytes(_ name: String, in text: String) -> Int? {
    guard let line = lines(text).first(where: { $0.hasPrefix(name) }) else { return nil }
    return line.dropFirst(name.count).split(whereSeparator: { $0 == " " || $0 == "\t" }).first.flatMap { Int($0) }
      .map { $0 * 1024 }
  }

  private static func lines(_ text: String) -> [Substring] { text.split(separator: "\n") }

  private static func trimmed(_ text: String) -> Substring { text.split(separator: "\n").first ?? "" }

  /// The content of a small file; nil when it cannot be read, as a limit that does not exist.
  private static func text(_ path: String) -> String? {
    do {
      let file = try FileDescriptor.open(FilePath(path), .readOnly, options: .closeOnExec)
      return try file.closeAfter {
        try String(unsafeUninitializedCapacity: longestFile) { out in
          var count = 0
          while count < longestFile {
            let read = try file.read(into: UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(out)[count...]))
            guard read > 0 else { break }
            count += read
          }
          return count
        }
      }
    } catch {
      return nil
    }
  }
}
