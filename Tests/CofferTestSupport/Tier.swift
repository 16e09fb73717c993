internal import Foundation
public import Testing

/// Which tests a run takes: `COFFER_TESTS=fast` leaves out what is ``Testing/Trait/wholeRun``; without the variable all are run.
enum Tier: String {
  case fast
  case all

  static let current: Tier = {
    guard let name = ProcessInfo.processInfo.environment["COFFER_TESTS"] else { return .all }
    guard let tier = Tier(rawValue: name) else {
      preconditionFailure("COFFER_TESTS is \"fast\" or \"all\", and not \"\(name)\"")
    }
    return tier
  }()
}

extension Trait where Self == ConditionTrait {
  /// Belongs to the whole run alone: a fast one, with `COFFER_TESTS=fast`, reports it as skipped.
  public static var wholeRun: Self {
    .enabled(if: Tier.current == .all, "it starts programs or tries many cases; COFFER_TESTS=fast leaves it out")
  }
}
