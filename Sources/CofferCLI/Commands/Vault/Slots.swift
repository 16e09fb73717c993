internal import ArgumentParser
internal import CofferAgent
internal import CofferFormats
internal import CofferPlatform
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials
internal import SystemPackage

struct SlotCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "slot", abstract: "List, add and remove ways to unlock the vault.",
    discussion: """
      A vault has 1 to 16 slots, each of which opens it alone. SLOT is the start of a slot's id, or its label. Removing a slot \
      gives the vault a new key that is not sealed to it.
      """,
    subcommands: [SlotListCommand.self, SlotAddCommand.self, SlotRemoveCommand.self, SlotLabelCommand.self])
}

struct SlotListCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the slots.",
    discussion: """
      Prints the id, kind and label of each slot, and marks the one that opened the vault, here or for the agent.
      """,
    aliases: ["ls"])

  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let slots = try context.openedVault().slots()
    if options.json { return try Output.json(slots.map(SlotJSON.init)) }
    try Table.show(SlotTable.table(slots, .output), elsewhere: SlotTable.rows(slots))
  }
}

struct SlotAddCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: "Add a way to unlock the vault.",
    discussion: """
      Adds a passphrase by default. --new-key-file creates a key file; with a new passphrase as well, the slot requires both. \
      --recovery-code prints a code once: write it down. --recipient lets the holder of an identity in ('coffer vault identity \
      FILE --new' creates one), and prints the invitation for joining. --until gives such a member a last day: the first 'coffer \
      vault rotate' after it removes the slot.
      """)

  @Option(help: ArgumentHelp("A label for this way to unlock.", valueName: "text")) var label: String = ""
  @Flag(help: "Create a recovery code and print it.") var recoveryCode = false
  @Option(help: ArgumentHelp("Let in the holder of this public key's identity.", valueName: "PVPUB1-…")) var recipient: String?
  @Option(help: ArgumentHelp("The recipient's last day, in UTC: 90d, 2027-02-28.", valueName: "time")) var until: String?
  @OptionGroup(title: "The new secret") var new: NewSecretOptions
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    let kinds = [recoveryCode, recipient != nil, !new.isEmpty]
    guard kinds.count(where: { $0 }) <= 1 else {
      throw ValidationError("give one of --recovery-code, --recipient and the options for a new secret")
    }
    guard until == nil || recipient != nil else { throw ValidationError("--until needs --recipient") }
  }

  func claimInput(_ context: Context) throws { try NewSecrets(new: new, context: context).claimInput() }

  func perform(_ context: Context) throws {
    let recipient = try recipient.map(Self.given)
    let lastDay = try until.map { try Expiry.parse($0, of: "--until") }
    let secrets = NewSecrets(new: new, context: context)
    let vault = try context.unlockedVault()
    if let recipient { return try add(recipient, lastDay, to: vault, context) }
    if recoveryCode {
      return try NewRecoveryCode.add(to: vault, label: label, isNewVault: false, context) { slot in
        options.json ? JSONText.encode(Answer(slot)) : nil
      }
    }
    // Answered outside: an answer that cannot be printed must not remove the key file of a new slot.
    let isThere = new.newKeyFile.map { FileFacts.exists(FilePath($0)) } ?? false
    let (slot, isNew) = try secrets.using { credentials in
      if isThere, let slot = try Self.slot(of: vault, thatOpensWith: credentials) { return (slot, false) }
      return try (vault.addSlot(credentials, label: label), true)
    }
    try answer(slot, isNew: isNew, context)
  }

  /// The slot that a killed command made with this key file; nil if it made none.
  private static func slot(
    of vault: borrowing UnlockedVault, thatOpensWith credentials: borrowing Credentials
  ) throws(StoreError) -> SlotSummary? {
    let kind = credentials.passphrase == nil ? SlotKind.keyFile : .passphraseAndKeyFile
    do throws(StoreError) {
      let opened = try LockedVault.open(vault.place, options: .withoutPins).unlock(with: credentials.copied())
      return try opened.slots().first { $0.isInUse && $0.summary.kind == kind }?.summary
    } catch {
      guard error.kind == .wrongSecret else { throw error }
      return nil
    }
  }

  private static func given(_ text: String) throws -> Recipient {
    do throws(StoreError) { return try Recipient(text) } catch {
      throw Failure.usage("--recipient: \(error.what)", try: error.commandCure)
    }
  }

  private func add(
    _ recipient: Recipient, _ lastDay: Date?, to vault: borrowing UnlockedVault, _ context: Context
  ) throws {
    let slot = try vault.addSlot(recipient, label: label, lastDay: lastDay)
    let invitation = try vault.invitation()
    if options.json { return try Output.json(Answer(slot, invitation)) }
    try answer(slot, context)
    try NewInvitation.show(invitation, "Invitation. The recipient joins with it: coffer vault join PLACE INVITATION.", context)
  }

  private func answer(_ slot: SlotSummary, isNew: Bool = true, _ context: Context) throws {
    if !isNew { context.note("the key file already opens the vault; no slot was added") }
    if options.json { return try Output.json(Answer(slot)) }
    if isNew { context.note("added slot \(slot.id), opened by \(slot.kind)") }
  }

  private struct Answer: Encodable {
    let id: String, opens: String, invitation: String?
    init(_ slot: SlotSummary, _ invitation: Invitation? = nil) {
      (id, opens, self.invitation) = (slot.id.description, slot.kind.description, invitation?.description)
    }
  }
}

struct SlotRemoveCommand: OpeningCommand, AskingCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "Remove a slot; the vault gets a new key that is not sealed to it.",
    discussion: "Its secret still opens copies of the file that were made before.", aliases: ["rm", "delete"])

  @Argument(help: "The start of the slot's id, or its label.", completion: Completions.slots) var slot: String
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let vault = try context.unlockedVault()
    let slots = try vault.slots()
    let removed = try slots.named(slot)
    let rotation = Rotation(sealingTo: slots.filter { $0.summary.id != removed.summary.id }, of: slots)
    guard slots.count > 1 else {
      throw StoreError(
        .lastSlot, "this is the last slot; without it nothing opens the vault", key: slot,
        cure: "add another first: coffer vault slot add")
    }
    try rotation.perform(vault, context, json: options.json) { vault, chosen, shown, progress in
      if let chosen { return try vault.rotate(only: chosen, shown: shown, progress: progress) }
      return try vault.removeSlot(removed.summary.id, shown: shown, progress: progress)
    }
  }
}

struct SlotLabelCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "label", abstract: "Change a slot's label.",
    discussion: "A member's last day is a part of the label: 'grace until 2027-02-28'.")

  @Argument(help: "The start of the slot's id, or its label.", completion: Completions.slots) var slot: String
  @Argument(help: "The new label, at most 64 bytes.") var label: String
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let vault = try context.unlockedVault()
    try vault.relabelSlot(vault.slots().named(slot).summary.id, to: label)
  }
}

enum SlotTable {
  static func text(_ slots: [VaultStatus.Slot]) -> String { Columns.wrap(rows(slots), for: .errors) }

  static func rows(_ slots: [VaultStatus.Slot]) -> [[String]] {
    slots.map { [$0.summary.id.description, "\($0.summary.kind)\($0.isInUse ? " *" : "")", $0.label] }
  }

  static func table(_ slots: [VaultStatus.Slot], _ display: Display) -> Table {
    let dot = Sign.dot.text(display)
    let isKnown = slots.contains(where: \.isInUse)
    return Table(
      columns: [.fixed(""), .text("SLOT"), .text("OPENED BY"), .text("LABEL", rank: 1)],
      rows: slots.map { slot in
        [
          Table.Cell(slot.isInUse ? dot : isKnown ? " " : "", .green), Table.Cell(slot.summary.id.description),
          Table.Cell(slot.summary.kind.description), Table.Cell(slot.label, slot.hasEnded ? .red : nil),
        ]
      },
      footer: counted(slots.count, "slot") + (isKnown ? "; \(dot) opened the vault just now" : ""))
  }
}

extension VaultStatus.Slot {
  var hasEnded: Bool { ends.map { $0 <= Date() } ?? false }

  /// `recovery code 'paper'`
  var words: String { summary.kind.description + (label.isEmpty ? "" : " '\(Printable.line(label))'") }
}

extension [VaultStatus.Slot] {
  /// The slot with the label `text`, or else with an id that begins with it, if that is unique.
  func named(_ text: String) throws(StoreError) -> VaultStatus.Slot {
    let digits = text.lowercased()
    let labeled = filter { $0.label == text || $0.name == text }
    let found = labeled.isEmpty && !digits.isEmpty ? filter { $0.summary.id.description.hasPrefix(digits) } : labeled
    guard let slot = found.first else {
      throw StoreError(
        .notFound, "the vault has no such slot", key: text,
        cure: "coffer vault slot list shows ids and labels; give a label or the beginning of an id")
    }
    guard found.count == 1 else {
      throw StoreError(
        .ambiguous, "\(found.count) slots match", key: text,
        cure: labeled.isEmpty ? "give more digits of the id" : "give the beginning of the id")
    }
    return slot
  }
}
