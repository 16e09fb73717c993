internal import ArgumentParser
internal import FoundationEssentials

/// `365d`, `52w` or `12h`.
struct AuditTime: ExpressibleByArgument {
  static let year = AuditTime(seconds: 365 * 86_400)
  static let month = AuditTime(seconds: 30 * 86_400)
  private static let units: [Character: Double] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]

  let seconds: TimeInterval

  private init(seconds: TimeInterval) { self.seconds = seconds }

  init?(argument: String) {
    guard let unit = argument.last.flatMap({ Self.units[$0] }), let count = UInt16(argument.dropLast()) else { return nil }
    seconds = Double(count) * unit
  }
}
