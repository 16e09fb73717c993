internal import CofferVaultFormat
internal import CofferVaultRows

/// The change of a merge to one record of this vault.
struct MergeStep {
  let ours: MergeRecord?, theirs: MergeRecord?
  let verdict: MergeVerdict
  var name: ItemName
  var named: UInt64

  /// Whether it has another name here.
  var isMoved: Bool { ours.map { $0.name != name } ?? false }

  /// What ``MergeRecord/key`` would be of a field.
  var fieldKey: ItemName { ItemName(sealed: "", "", field: name.field) }
}

extension MergeStep {
  /// The step of a field that stays as it is, in an item that is called `item` afterwards.
  init(keeping field: MergeRecord, in item: ItemName) {
    self.init(
      ours: field, theirs: nil, verdict: .ours(isConflict: false),
      name: ItemName(sealed: item.service, item.account, field: field.name.field), named: field.named)
  }
}

/// Which content an item or a field has after a merge.
enum MergeVerdict: Equatable {
  /// Both have the same; the later write of it gives times and id.
  case same(isLaterThere: Bool)
  /// That of this vault; a conflict where neither knows the other one.
  case ours(isConflict: Bool)
  /// That of the other vault; a conflict where neither knows the other one.
  case theirs(isConflict: Bool)

  /// Whether the content that stays is that of this vault.
  var isOfOurs: Bool {
    switch self {
    case .same(let isLaterThere): !isLaterThere
    case .ours: true
    case .theirs: false
    }
  }
}

/// The changes of a merge to an item and its fields.
struct MergeGroup {
  var item: MergeStep
  var fields: [MergeStep] = []
  /// Fields that were deleted there, and when.
  var removed: [(field: MergeRecord, at: UInt64)] = []
}
