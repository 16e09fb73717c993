internal import CofferVaultFormat

/// A merge's change to one record of this vault.
struct MergeStep {
  let ours: MergeRecord?, theirs: MergeRecord?
  let verdict: MergeVerdict
  var name: ItemName
  var named: UInt64
  /// Whether this vault's content stays, and gains previous versions of the other's.
  var gainsPast = false

  var isMoved: Bool { ours.map { $0.name != name } ?? false && verdict != .whole }
}

extension MergeStep {
  /// The step of an unchanged field in an item now named `item`.
  init(keeping field: MergeRecord, in item: ItemName) {
    self.init(
      ours: field, theirs: nil, verdict: .ours(isConflict: false),
      name: field.name.moved(to: item), named: field.named)
  }
}

enum MergeVerdict: Equatable {
  /// Equal in both. Times and id come from the later write.
  case same(isLaterThere: Bool)
  /// This vault's; a conflict if neither knows the other one.
  case ours(isConflict: Bool)
  /// The other vault's; a conflict if neither knows the other one.
  case theirs(isConflict: Bool)
  /// This vault's as it is: since the base, the other changed nothing.
  case untouched
  /// The other vault's rows as they are: since the base, this one changed nothing.
  case whole

  /// Whether this vault's content stays, or an equal one.
  var keepsContent: Bool {
    switch self {
    case .same, .ours(isConflict: false): true
    default: false
    }
  }

  var isConflict: Bool { self == .ours(isConflict: true) || self == .theirs(isConflict: true) }

  var isOfOurs: Bool {
    switch self {
    case .same(let isLaterThere): !isLaterThere
    case .ours, .untouched: true
    case .theirs, .whole: false
    }
  }
}
