public import FoundationEssentials

// The last day of a member is the end of its slot's label: "grace until 2027-02-28". A label is sealed with the vault, and no
// death, merge or older program separates it from its slot.

extension VaultStatus.Slot {
  /// The label without a member's last day.
  public var name: String { parts?.name ?? label }

  /// The midnight (UTC) that ends a member's last day; nil for none, and for a slot that is no recipient's.
  ///
  /// Nothing happens at this time: ``UnlockedVault/rotate(only:without:shown:progress:)`` removes the slot.
  public var ends: Date? { parts?.ends }

  private static let word = " until "
  private static let day = Date.ISO8601FormatStyle.iso8601.year().month().day()

  package static func label(_ name: String, lastDay: Date?) -> String {
    guard let lastDay else { return name }
    return (name.isEmpty ? "member" : name) + word + lastDay.formatted(day)
  }

  private var parts: (name: String, ends: Date)? {
    guard summary.kind == .recipient, let found = label.ranges(of: Self.word).last else { return nil }
    let day = String(label[found.upperBound...])
    // Foundation accepts a valid prefix, and reads the 31st of February as the 3rd of March.
    do {
      let date = try Date(day, strategy: Self.day)
      guard date.formatted(Self.day) == day else { return nil }
      return (String(label[..<found.lowerBound]), date + 86_400)
    } catch { return nil }
  }
}
