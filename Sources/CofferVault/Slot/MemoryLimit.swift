internal import CofferPlatform
internal import CofferStorage

/// How much memory Argon2id may take: what is available to this process, less a reserve, so that unlocking a vault never makes the
/// kernel kill a program.
enum MemoryLimit {
  /// Left to the rest of the process.
  static let reserve = 32 * 1024 * 1024

  /// Bytes that may be used now.
  static func available() -> Int {
    limit(
      available: KernelFile.text("/proc/meminfo").flatMap(available(meminfo:)),
      groups: ControlGroup.current(),
      addressSpace: KernelFile.text("/proc/self/limits").flatMap(addressSpace(limits:)),
      mapped: KernelFile.text("/proc/self/status").flatMap(mapped(status:)) ?? 0)
  }

  /// The least of what is available to the machine, to this control group and each above it, and to the address space.
  ///
  /// - Parameter available: nil where the system does not tell; then only the other limits count.
  static func limit(available: Int?, groups: [ControlGroup], addressSpace: Int?, mapped: Int) -> Int {
    var least = groups.reduce(available ?? Int.max) { min($0, $1.free) }
    if let addressSpace { least = min(least, addressSpace - mapped) }
    return max(0, least == Int.max ? least : least - reserve)
  }

  /// `MemAvailable` of /proc/meminfo, in bytes.
  static func available(meminfo: String) -> Int? { KernelFile.number("MemAvailable:", in: meminfo).map { $0 * 1024 } }

  /// `VmSize` of /proc/self/status, in bytes: what counts against the address space.
  static func mapped(status: String) -> Int? { KernelFile.number("VmSize:", in: status).map { $0 * 1024 } }

  /// The soft limit of `Max address space` in /proc/self/limits; nil when unlimited.
  static func addressSpace(limits: String) -> Int? { KernelFile.number("Max address space", in: limits) }
}
