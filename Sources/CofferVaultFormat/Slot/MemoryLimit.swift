internal import CofferPlatform

/// A control group's memory limit and usage. Past the limit the kernel kills one of its processes.
///
/// Source: the kernel's documentation, admin-guide/cgroup-v2 ("Memory Interface Files") and admin-guide/cgroup-v1/memory.
package struct ControlGroup: Equatable {
  /// Bytes.
  let limit: Int
  /// Bytes, without file pages not used recently: with them, a container that has read large files is always full.
  let taken: Int

  var free: Int { limit > taken ? limit - taken : 0 }

  /// - Parameters:
  ///   - limit: the content of `memory.max` or `memory.limit_in_bytes`.
  ///   - usage: the content of `memory.current` or `memory.usage_in_bytes`.
  ///   - stat: the content of `memory.stat`.
  ///   - idle: the line of `stat` that counts unused file pages.
  /// - Returns: nil if there is no limit ("max" is no number), or the kernel gives none.
  package init?(limit: String, usage: String, stat: String, idle: String) {
    guard let limit = Self.number(limit), let usage = Self.number(usage) else { return nil }
    self.limit = limit
    taken = max(0, usage - (KernelFile.number(idle + " ", in: stat) ?? 0))
  }

  /// This process's groups and all above them that have a limit.
  static func current() -> [ControlGroup] {
    hierarchies(KernelFile.text("/proc/self/cgroup") ?? "").flatMap { hierarchy in
      hierarchy.folders.compactMap { folder in
        ControlGroup(
          limit: KernelFile.text("\(folder)/\(hierarchy.version.limit)") ?? "",
          usage: KernelFile.text("\(folder)/\(hierarchy.version.usage)") ?? "",
          stat: KernelFile.text("\(folder)/memory.stat") ?? "", idle: hierarchy.version.idle)
      }
    }
  }

  package enum Version {
    /// The memory controller's own hierarchy.
    case first
    /// The unified hierarchy.
    case second

    fileprivate var limit: String { self == .first ? "memory.limit_in_bytes" : "memory.max" }
    fileprivate var usage: String { self == .first ? "memory.usage_in_bytes" : "memory.current" }
    fileprivate var idle: String { self == .first ? "total_inactive_file" : "inactive_file" }
    fileprivate var root: String { self == .first ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup" }
  }

  struct Hierarchy: Equatable {
    let version: Version
    /// The group's folder and all above it, the root first. A container sees its own group as the root, whatever its outside
    /// name.
    let folders: [String]
  }

  /// The hierarchies that limit memory, from the lines `number:controllers:group` of /proc/self/cgroup.
  static func hierarchies(_ text: String) -> [Hierarchy] {
    KernelFile.lines(text).compactMap { line in
      let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      guard parts.count == 3, parts[2].hasPrefix("/") else { return nil }
      if parts[0] == "0", parts[1].isEmpty { return Hierarchy(version: .second, folders: folders(parts[2], .second)) }
      guard parts[1].split(separator: ",").contains("memory") else { return nil }
      return Hierarchy(version: .first, folders: folders(parts[2], .first))
    }
  }

  private static func folders(_ group: Substring, _ version: Version) -> [String] {
    var folder = version.root
    return [folder]
      + group.split(separator: "/").map { part in
        folder += "/" + part
        return folder
      }
  }

  private static func number(_ text: String) -> Int? { KernelFile.lines(text).first.flatMap { Int($0) } }
}

/// The memory for Argon2id: the memory available to this process, less a reserve, so unlocking never makes the kernel kill a
/// program.
package enum MemoryLimit {
  /// Bytes for the rest of the process.
  static let reserve = 32 * 1024 * 1024

  package static func available() -> Int {
    limit(
      available: KernelFile.text("/proc/meminfo").flatMap(available(meminfo:)),
      groups: ControlGroup.current(),
      addressSpace: KernelFile.text("/proc/self/limits").flatMap(addressSpace(limits:)),
      mapped: KernelFile.text("/proc/self/status").flatMap(mapped(status:)) ?? 0)
  }

  /// The minimum available to the machine, to this control group and each above it, and to the address space.
  ///
  /// - Parameter available: nil if the system does not say; then only the other limits count.
  static func limit(available: Int?, groups: [ControlGroup], addressSpace: Int?, mapped: Int) -> Int {
    var least = groups.reduce(available ?? Int.max) { min($0, $1.free) }
    if let addressSpace { least = min(least, addressSpace - mapped) }
    return max(0, least == Int.max ? least : least - reserve)
  }

  /// `MemAvailable` of /proc/meminfo, in bytes.
  static func available(meminfo: String) -> Int? { KernelFile.number("MemAvailable:", in: meminfo).map { $0 * 1024 } }

  /// `VmSize` of /proc/self/status, in bytes, which counts against the address space.
  static func mapped(status: String) -> Int? { KernelFile.number("VmSize:", in: status).map { $0 * 1024 } }

  /// The soft limit of `Max address space` in /proc/self/limits; nil if unlimited.
  static func addressSpace(limits: String) -> Int? { KernelFile.number("Max address space", in: limits) }
}
