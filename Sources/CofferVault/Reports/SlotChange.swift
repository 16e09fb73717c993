/// A change that the head of another machine made to the slots of this vault.
public struct SlotChange: Sendable, Equatable, Codable {
  /// The kind of a change.
  public enum Kind: String, Sendable, CaseIterable, Codable {
    /// The other machine added the slot.
    case added
    /// The other machine removed the slot.
    case removed
    /// The other machine gave the slot another secret, cost or label.
    case changed
    /// This machine had added or changed the slot. The key of the other one was taken, and its slots.
    case undone
    /// This machine had removed the slot, and the other key was sealed to it. The vault has a new key, without the slot.
    case removedAgain
  }

  /// The kind of the change.
  public let kind: Kind
  /// The slot.
  public let slot: SlotSummary
  /// The slot's name for people.
  public let label: String
}
