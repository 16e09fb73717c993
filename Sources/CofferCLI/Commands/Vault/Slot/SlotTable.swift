internal import Coffer

/// Slots, one a line.
enum SlotTable {
  static func text(_ slots: [VaultStatus.Slot]) -> String {
    Columns.align(
      slots.map { [$0.summary.id.description, "\($0.summary.kind)\($0.isInUse ? " *" : "")", Printable.line($0.label)] })
  }
}

/// A slot in JSON.
struct SlotJSON: Encodable {
  let id: String, opens: String, label: String, passes: UInt32, mebibytes: UInt32, inUse: Bool

  init(_ slot: VaultStatus.Slot) {
    id = slot.summary.id.description
    opens = slot.summary.kind.description
    label = slot.label
    passes = slot.summary.passes
    mebibytes = slot.summary.mebibytes
    inUse = slot.isInUse
  }
}

extension [VaultStatus.Slot] {
  /// Digits of an id that tell slots apart: 2^16 to one among 16 slots that two begin alike.
  private static var shortestPrefix: Int { 4 }

  /// The slot that `text` means: the beginning of its id, or its label.
  ///
  /// - Throws: `.notFound`, `.ambiguous`.
  func named(_ text: String) throws(StoreError) -> VaultStatus.Slot {
    let digits = text.lowercased()
    let isPrefix = digits.count >= Self.shortestPrefix
    let found = filter { $0.label == text || (isPrefix && $0.summary.id.description.hasPrefix(digits)) }
    guard let slot = found.first else {
      throw StoreError(
        .notFound, "the vault has no such slot", key: text,
        cure: "coffer vault slot list shows ids and labels; give a label or the first \(Self.shortestPrefix) digits of an id")
    }
    guard found.count == 1 else {
      throw StoreError(.ambiguous, "\(found.count) slots match", key: text, cure: "give more digits of the id")
    }
    return slot
  }
}
