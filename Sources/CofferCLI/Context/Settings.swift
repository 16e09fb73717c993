internal import Coffer
internal import CofferFormats
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

/// The user's settings of this program: preferences of a domain that the router has no key in.
struct Settings {
  static let domain = Places.settingsDomain
  /// The purpose and the values of each setting.
  static let agentAuto = "agent.auto", agentIdle = "agent.idle", agentLifetime = "agent.lifetime"
  static let historyKeep = "history.keep", trashDays = "trash.days"

  private let context: Context

  init(_ context: Context) { self.context = context }

  /// Nil removes it.
  static func save(_ form: PlainForm?, as name: String, _ context: Context) throws {
    let store = try context.places.openDefaults(domain)
    try store.save(form, for: name)
    try store.close()
  }

  /// The settings whose names begin with `prefix`, by the rest of the name.
  static func all<Value>(
    _ prefix: String, _ context: Context, _ read: (PlainForm) -> Value?
  ) throws -> [(name: String, value: Value)] {
    try context.domain(domain).contents().compactMap { key, form in
      guard key.hasPrefix(prefix), let value = read(form) else { return nil }
      return (String(key.dropFirst(prefix.count)), value)
    }.sorted { $0.name < $1.name }
  }

  /// On unless turned off. An unreadable setting counts as off: a vault that stays locked does no harm.
  var keepsInAgent: Bool {
    switch form(Self.agentAuto) {
    case .absent: return true
    case .unreadable: return false
    case .there(let form):
      do throws(Failure) { return try PlainType.bool.parse(PlainText.text(form)) == .bool(true) } catch {
        context.note(Self.unknown(Self.agentAuto, "on or off; off is used"))
        return false
      }
    }
  }

  /// The time without use until the agent locks; nil for the one it was started with.
  var idle: Duration? { duration(Self.agentIdle) }

  /// The time until it locks in any case.
  var lifetime: Duration? { duration(Self.agentLifetime) }

  /// Previous versions to keep of an item: 10 unless set.
  var historyKeep: Int { count(Self.historyKeep, of: 0...VaultItem.longestHistory) ?? 10 }

  /// The days in which a deleted item can be restored: 30 unless set; 0 removes it at once.
  var trashDays: Int { count(Self.trashDays, of: 0...3650) ?? 30 }

  /// The end of those days for an item deleted now; nil removes it for good.
  var keptUntil: Date? {
    let days = trashDays
    return days > 0 ? Date().addingTimeInterval(Double(days) * 86_400) : nil
  }

  private func count(_ name: String, of range: ClosedRange<Int>) -> Int? {
    value(name, "a number from \(range.lowerBound) to \(range.upperBound)") { Int($0).flatMap { range.contains($0) ? $0 : nil } }
  }

  private func duration(_ name: String) -> Duration? {
    value(name, "a time: 90s, 15m, 2h or 1d") { AgentTime(argument: $0)?.duration }
  }

  private func value<Value>(_ name: String, _ kind: String, _ read: (String) -> Value?) -> Value? {
    guard case .there(let form) = form(name) else { return nil }
    if let value = read(PlainText.text(form)) { return value }
    context.note(Self.unknown(name, "\(kind); it is ignored"))
    return nil
  }

  private enum Setting { case absent, unreadable, there(PlainForm) }

  private func form(_ name: String) -> Setting {
    do throws(StoreError) { return try context.domain(Self.domain).load(name).map(Setting.there) ?? .absent } catch {
      context.note("the setting \(name) cannot be read: \(Failure(error).what)")
      return .unreadable
    }
  }

  private static func unknown(_ name: String, _ what: String) -> String { "the setting \(name) of \(domain) is not \(what)" }
}
