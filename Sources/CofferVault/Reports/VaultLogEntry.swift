internal import CofferVaultFormat
public import FoundationEssentials

/// An entry of a vault's log: who, when and what, never a value.
public struct VaultLogEntry: Sendable, Equatable {
  /// The kind of an event.
  public enum Event: String, Sendable, CaseIterable {
    /// The vault was made.
    case vaultCreated
    /// An item was stored.
    case itemSet
    /// An item was deleted.
    case itemDeleted
    /// A slot was added.
    case slotAdded
    /// A slot was removed.
    case slotRemoved
    /// A slot got another label, secret or cost.
    case slotChanged
    /// The vault got a new key, and every record was resealed under it.
    case keyRotated
    /// A process unlocked the vault.
    case unlocked
    /// A backup replaced the vault.
    case restored
    /// The oldest entries of the log were dropped.
    case trimmed
    /// Damage was repaired or left out.
    case repaired
    /// The minimum Argon2id cost of the vault's passphrases changed.
    case policyChanged
    /// The vault was converted to a newer format. No version writes this yet.
    case migrated
    /// A deleted item or field was restored.
    case undeleted
    /// Previous or deleted versions were dropped.
    case pruned
    /// An event unknown to this version.
    case unknown
  }

  /// Its number, from 1.
  public let sequence: UInt64
  /// The time by the clock of the machine where it happened.
  public let date: Date
  /// The event.
  public let event: Event
  /// The user's number on that machine.
  public let user: UInt32
  /// The process's number on that machine. For a change through an agent, the agent's client.
  public let process: UInt32
  /// The program's name as it claims, without its folder.
  public let program: String
  /// The item concerned, if it exists or is restorable.
  public let item: ItemName?
  /// The item's place in the vault, 32 hexadecimal digits that never change for a name; nil if no item is concerned.
  public let index: String?
  /// The slot concerned, 32 hexadecimal digits; nil if none is.
  public let slot: String?
  /// The slot that had opened the vault, 32 hexadecimal digits: a holder of its secret made the change or lent the key for
  /// it.
  public let openedWith: String

  package init(
    sequence: UInt64, date: Date, event: Event, user: UInt32, process: UInt32, program: String, item: ItemName?, index: String?,
    slot: String?, openedWith: String
  ) {
    self.sequence = sequence
    self.date = date
    self.event = event
    self.user = user
    self.process = process
    self.program = program
    self.item = item
    self.index = index
    self.slot = slot
    self.openedWith = openedWith
  }

  init(_ sequence: UInt64, _ entry: LogEntry, name: ItemName?) {
    self.sequence = sequence
    date = Milliseconds.date(entry.time)
    event = entry.event.map(Event.init) ?? .unknown
    user = entry.user
    process = entry.process
    program = entry.program
    item = name
    index = entry.index == .zero ? nil : entry.index.description
    openedWith = Hex.text(entry.slot.bytes)
    slot = entry.event.map(Self.hasSlot) ?? false && entry.detail.count == 16 ? Hex.text(entry.detail) : nil
  }

  private static func hasSlot(_ event: LogEntry.Event) -> Bool {
    switch event {
    case .slotAdded, .slotRemoved, .slotChanged, .unlocked: true
    default: false
    }
  }
}

extension VaultLogEntry.Event {
  init(_ event: LogEntry.Event) {
    self =
      switch event {
      case .vaultCreated: .vaultCreated
      case .itemSet: .itemSet
      case .itemDeleted: .itemDeleted
      case .slotAdded: .slotAdded
      case .slotRemoved: .slotRemoved
      case .slotChanged: .slotChanged
      case .keyRotated: .keyRotated
      case .unlocked: .unlocked
      case .restored: .restored
      case .trimmed: .trimmed
      case .repaired: .repaired
      case .policyChanged: .policyChanged
      case .migrated: .migrated
      case .undeleted: .undeleted
      case .pruned: .pruned
      }
  }
}
