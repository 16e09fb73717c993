internal import ArgumentParser
internal import CofferPlatform
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

struct VaultPassphraseCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "passphrase", abstract: "Change the passphrase, and with it the vault's key.",
    discussion: """
      Changes the slot that opened the vault, or the only one with a passphrase, or --slot. Any way to unlock works: a recovery \
      code replaces a forgotten passphrase, as 'coffer recover' does. The vault is encrypted again with a new key. \
      --keep-key is quicker, and enough if nobody knows the old passphrase.
      """, aliases: ["passwd"])

  @Flag(help: "Keep the vault's key.") var keepKey = false
  @Option(
    help: ArgumentHelp("Change this slot (the start of its id, or its label).", valueName: "slot"),
    completion: Completions.slots)
  var slot: String?
  @OptionGroup(title: "The new secret") var new: NewSecretOptions
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func claimInput(_ context: Context) throws { try NewSecrets(new: new, context: context).claimInput() }

  func perform(_ context: Context) throws {
    let vault = try context.unlockedVault()
    try PassphraseChange(slot: slot, new: new, keepsKey: keepKey).perform(vault, context, json: options.json)
  }
}

struct VaultRotateCommand: OpeningCommand, AskingCommand {
  static let configuration = CommandConfiguration(
    commandName: "rotate", abstract: "Give the vault a new key and seal everything under it.",
    discussion: """
      Needs one way to unlock; all slots still open the vault, and programs that have it open continue without a question. \
      Anyone able to write to the vault may have added a slot: the slots are shown first, and --only names those to keep. \
      Members whose last day is over ('coffer vault slot add --until') are removed.
      """)

  @Option(
    parsing: .upToNextOption,
    help: ArgumentHelp("Seal to these slots and remove all others.", valueName: "slot"), completion: Completions.slots)
  var only: [String] = []
  @Flag(help: "Only if a member's last day is over; otherwise change nothing.") var ended = false
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    guard !ended || only.isEmpty else { throw ValidationError("give one of --ended and --only") }
  }

  func perform(_ context: Context) throws {
    let vault = try context.unlockedVault()
    let slots = try vault.slots()
    let named = Set(try only.map { try slots.named($0).summary.id })
    // The slot that opened the vault stays: this program needs it to finish.
    let without = only.isEmpty ? slots.filter { $0.hasEnded && !$0.isInUse }.map(\.summary.id) : []
    if let own = slots.first(where: { $0.hasEnded && $0.isInUse }) {
      context.note("the last day of \(own.words) is over, but it opened the vault and stays: another slot can remove it")
    }
    if ended, without.isEmpty {
      if options.json { try Output.json(Rotation.Answer(slots: slots.map(SlotJSON.init), removed: [], invitation: nil)) }
      return context.note("there is no member to remove; nothing was changed")
    }
    let kept = slots.filter { only.isEmpty ? !without.contains($0.summary.id) : named.contains($0.summary.id) }
    try Rotation(sealingTo: kept, of: slots).perform(vault, context, json: options.json) { vault, chosen, shown, progress in
      let only = only.isEmpty && chosen == nil ? nil : chosen ?? Array(named)
      return try vault.rotate(only: only, without: without, shown: shown, progress: progress)
    }
  }
}

extension SlotReport {
  /// Those that are not among `known`, as another program added them meanwhile.
  func added(to known: [VaultStatus.Slot]) -> [VaultStatus.Slot] {
    (slots + removed).filter { slot in !known.contains { $0.summary.id == slot.summary.id } }
  }

  func noteAdded(to known: [VaultStatus.Slot], _ context: Context) {
    for slot in added(to: known) {
      let fate = slots.contains(slot) ? "opens the vault too" : "was removed too"
      context.note("a slot was added meanwhile, and \(fate): \(slot.summary.id), \(slot.words)")
    }
  }
}

struct Rotation {
  let kept: [VaultStatus.Slot]
  let removed: [VaultStatus.Slot]

  /// Whether the invitation to the new key ends older pins.
  private let endsOlderPins: Bool

  init(sealingTo kept: [VaultStatus.Slot], of slots: [VaultStatus.Slot], endsOlderPins: Bool = false) {
    (self.kept, self.endsOlderPins) = (kept, endsOlderPins)
    removed = slots.filter { slot in !kept.contains(slot) }
  }

  /// - Parameter chosen: the answer to the question, if it was asked.
  /// - Parameter change: gets the slots that stay, nil if none was removed at the question, and those that were shown, nil
  ///   without a question.
  /// - Throws: a usage failure without a terminal and without --yes.
  func perform(
    _ vault: borrowing UnlockedVault, _ context: Context, json: Bool, chosen: [VaultStatus.Slot]? = nil,
    _ change: (borrowing UnlockedVault, [SlotSummary.ID]?, [SlotSummary.ID]?, (Int, Int) -> Void) throws -> SlotReport
  ) throws {
    let chosen = try chosen ?? self.chosen(vault, context)
    let all = kept + removed
    let report = try context.showing(.rotating) {
      try change(vault, chosen == kept ? nil : chosen.map(\.summary.id), context.yes ? nil : all.map(\.summary.id), $0.show)
    }
    report.noteAdded(to: all, context)
    if report.removed.contains(where: { $0.summary.kind == .recipient }) {
      context.note(
        "a removed member has seen all secrets so far: coffer vault audit --seen lists those that have not changed since")
      if vault.place.url != nil {
        context.note("the server still lets the member's role in: coffer vault grant ROLE=none shuts it out")
      }
    }
    // A user who removed the slot that opened the vault can no longer read it: another secret shows the invitation.
    var invitation = report.slots.contains(where: \.isInUse) ? try vault.invitation() : nil
    if endsOlderPins { invitation = invitation?.endingOlderPins() }
    if json {
      return try Output.json(
        Answer(
          slots: report.slots.map(SlotJSON.init), removed: report.removed.map(SlotJSON.init),
          invitation: invitation?.description))
    }
    context.done(
      "new key, sealed to \(counted(report.slots.count, "slot")) (\(report.slots.map(\.words).joined(separator: ", ")))",
      elsewhere: "the vault has a new key, sealed to \(counted(report.slots.count, "slot"))")
    guard let invitation else { return context.note("coffer vault pin show prints the new invitation") }
    guard !endsOlderPins else {
      let purpose = "Invitation that ends older pins. Give it to machines as the file that COFFER_EXPECT_VAULT names."
      return try NewInvitation.show(invitation, purpose, context)
    }
    try NewInvitation.show(invitation, afterNewKeyFor: all.map(\.summary), context)
  }

  /// The slots that stay after the question.
  func chosen(_ vault: borrowing UnlockedVault, _ context: Context) throws -> [VaultStatus.Slot] {
    guard !context.yes else { return kept }
    guard let terminal = Terminal() else {
      throw Failure.usage(
        "there is no terminal to ask at, and the new key would be sealed to "
          + kept.map { "\($0.summary.id) (\($0.summary.kind))" }.joined(separator: ", "),
        try: "the command with --yes, if you recognize all of them")
    }
    let added = Dictionary(try vault.log().filter { $0.event == .slotAdded }.map { ($0.slot, $0.date) }, uniquingKeysWith: { $1 })
    if !removed.isEmpty { Output.message("These will no longer open it:\n\(SlotTable.text(removed))") }
    var chosen = kept
    while true {
      Output.message(
        "These will still open the vault after the key change:\n\(Self.numbered(chosen, added))\n"
          + "Is any of them not yours? Enter its number to remove it.")
      let answer = try terminal.line("A number, or press Enter to continue: ")
      guard !answer.isEmpty else { return chosen }
      if let number = Int(answer), chosen.indices.contains(number - 1) {
        if chosen[number - 1].isInUse || chosen.count == 1 {
          Output.message("Number \(number) must stay: you need it to open the vault. Control-C stops.")
        } else {
          chosen.remove(at: number - 1)
        }
      } else {
        Output.message("Enter a number from 1 to \(chosen.count), or press Enter. Control-C stops; nothing is changed.")
      }
    }
  }

  private static func numbered(_ slots: [VaultStatus.Slot], _ added: [String?: Date]) -> String {
    let time = LocalTime()
    let rows = slots.enumerated().map { number, slot in
      let id = slot.summary.id.description
      let since = added[id].map { "added \(time.day($0))" } ?? ""
      return [
        "  \(number + 1)", slot.summary.kind.description, String(id.prefix(8)), slot.label, slot.isInUse ? "you, now" : since,
      ]
    }
    return Columns.wrap(rows, for: .errors)
  }

  struct Answer: Encodable { let slots: [SlotJSON], removed: [SlotJSON], invitation: String? }
}

struct IdentityCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "identity", abstract: "Print the public key of an identity file, or write a new one.",
    discussion: """
      An identity file is as secret as a key file. Its public key, PVPUB1-…, is not secret: the owner of another vault adds a \
      slot for you with 'coffer vault slot add --recipient'.
      """)
  @Argument(help: "The identity file.") var file: String
  @Flag(help: "Write a new identity; the file must not exist.") var new = false
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let identity =
      try new
      ? PrivateFile.write(Identity.generate(), to: file)
      : SecretReader.file(file, limit: SecretFile.largestIdentity, what: "the identity")
    let recipient = try Identity.recipient(of: identity).description
    try Output.line(options.json ? JSONText.encode(["recipient": recipient]) : recipient)
  }
}
