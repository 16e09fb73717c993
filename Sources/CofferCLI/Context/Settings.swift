internal import Coffer
internal import CofferFormats
internal import CofferPlatform
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

  /// Whether the agent keeps typed secrets: on unless it is turned off. An unreadable setting counts as off, because a vault that
  /// stays locked does no harm.
  var keepsInAgent: Bool {
    switch form(Self.agentAuto) {
    case .absent: return true
    case .unreadable: return false
    case .there(.bool(let isOn)): return isOn
    case .there(let form):
      switch PlainText.text(form).lowercased() {
      case "on", "true", "yes", "1": return true
      case "off", "false", "no", "0": return false
      default:
        context.note(Self.unknown(Self.agentAuto, "on or off; it counts as off"))
        return false
      }
    }
  }

  /// After how long the agent locks without use; nil for as long as it was started with.
  var idle: Duration? { duration(Self.agentIdle) }

  /// After how long it locks in any case.
  var lifetime: Duration? { duration(Self.agentLifetime) }

  /// How many former contents of an item are kept: 10 unless set.
  var historyKeep: Int { count(Self.historyKeep, of: 0...VaultItem.longestHistory) ?? 10 }

  /// For how many days a deleted item can be restored: 30 unless set; 0 removes it at once.
  var trashDays: Int { count(Self.trashDays, of: 0...3650) ?? 30 }

  /// Until when an item that is deleted now can be restored; nil removes it for good.
  var keptUntil: Date? {
    let days = trashDays
    return days > 0 ? Date().addingTimeInterval(Double(days) * 86_400) : nil
  }

  private func count(_ name: String, of range: ClosedRange<Int>) -> Int? {
    guard case .there(let form) = form(name) else { return nil }
    if let count = Int(PlainText.text(form)), range.contains(count) { return count }
    context.note(Self.unknown(name, "a number from \(range.lowerBound) to \(range.upperBound); it does not count"))
    return nil
  }

  private func duration(_ name: String) -> Duration? {
    guard case .there(let form) = form(name) else { return nil }
    if let time = AgentTime(argument: PlainText.text(form)) { return time.duration }
    context.note(Self.unknown(name, "a time: 90s, 15m, 2h or 1d; it does not count"))
    return nil
  }

  private enum Setting { case absent, unreadable, there(PlainForm) }

  private func form(_ name: String) -> Setting {
    do throws(StoreError) { return try context.domain(Self.domain).load(name).map(Setting.there) ?? .absent } catch {
      context.note("the setting \(name) cannot be read: \(Failure(error).what)")
      return .unreadable
    }
  }

  private static func unknown(_ name: String, _ what: String) -> String {
    "the setting \(name) of \(domain) is not \(what)"
  }
}
