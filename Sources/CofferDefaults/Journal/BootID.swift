internal import FoundationEssentials

/// Names the run of the kernel: what a process wrote to shared memory outlives the process, but not the kernel.
struct BootID: Equatable {
  let high: UInt64, low: UInt64

  /// Zero where the system does not tell; it then counts as another one each time.
  static let current = read()

  var isKnown: Bool { high != 0 || low != 0 }

  private static func read() -> BootID {
    guard let text = FileManager.default.contents(atPath: "/proc/sys/kernel/random/boot_id") else {
      return BootID(high: 0, low: 0)
    }
    let digits = String(decoding: text, as: UTF8.self).filter(\.isHexDigit)
    guard digits.count == 32, let high = UInt64(digits.prefix(16), radix: 16), let low = UInt64(digits.suffix(16), radix: 16)
    else { return BootID(high: 0, low: 0) }
    return BootID(high: high, low: low)
  }
}
