internal import ArgumentParser
internal import Coffer
internal import CofferTerminal
internal import CofferVault

struct PinCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pin", abstract: "Manage this machine's memory of the vault, to notice an older copy.",
    discussion: """
      Each time a vault is opened or written, its newest commit is noted outside of it. An older copy, another vault in its \
      place, or one that continued without this machine's writes is then refused with exit status 66, until you accept it.
      """,
    subcommands: [PinShowCommand.self, PinAcceptCommand.self])
}

struct PinShowCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Print this machine's memory of the vault. Needs no secret.",
    discussion: """
      Epoch and mark are the same wherever the vault is, for you to compare. 'coffer vault invite' prints the invitation that \
      holds both.
      """)

  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let vault = try context.lockedVault()
    let memory = try vault.pinMemory()
    let answer = Answer(
      vault: vault.place.description, id: vault.id.description, expected: memory.expected?.description, generation: memory.seen,
      own: memory.own, epoch: memory.invitation?.epoch, mark: memory.invitation?.shortMark,
      invitation: memory.invitation?.description, pins: context.places.pins.string,
      problem: vault.ageProblem.map { "\($0.what); \($0.cure ?? "")" })
    if options.json { return try Output.json(answer) }
    let seen = memory.seen.map { "generation \($0)" } ?? "never"
    var rows = [
      ["vault", answer.vault], ["id", answer.id], ["expected here", answer.expected ?? "any vault"], ["seen", seen],
      ["last written here", memory.own.map { "generation \($0)" } ?? "never"], ["pins", answer.pins],
    ]
    if let problem = answer.problem { rows.append(["problem", Printable.line(problem)]) }
    if let invitation = memory.invitation { rows += [["epoch", String(invitation.epoch)], ["mark", invitation.shortMark]] }
    try Sheet.show(rows)
  }

  private struct Answer: Encodable {
    let vault: String, id: String, expected: String?, generation: UInt64?, own: UInt64?
    let epoch: UInt64?, mark: String?, invitation: String?, pins: String, problem: String?
  }
}

extension Invitation {
  /// The part of the mark that people compare: 128 bits, which nobody finds another key for.
  var shortMark: String { String(mark.prefix(32)) }
}

struct VaultInviteCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "invite", abstract: "Print the invitation for joining this vault.",
    discussion: """
      It names the newest key of the vault that this machine has seen. It needs no secret and is not secret, but send it over a \
      channel nobody can tamper with. 'coffer vault slot add --recipient' lets the other person in.
      """)

  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let vault = try context.lockedVault()
    guard let invitation = try vault.pinMemory().invitation else {
      throw StoreError(
        .notFound, "this machine has not opened the vault yet", place: vault.place.description,
        cure: "coffer unlock, then try again")
    }
    guard !options.json else {
      return try Output.json(Answer(epoch: invitation.epoch, invitation: invitation.description, mark: invitation.shortMark))
    }
    // Only a terminal may break the line, so that it can be copied.
    try Output.line(invitation.description)
  }

  private struct Answer: Encodable { let epoch: UInt64, invitation: String, mark: String }
}

struct PinAcceptCommand: OpeningCommand, AskingCommand {
  static let configuration = CommandConfiguration(
    commandName: "accept", abstract: "Trust the vault as it is now: an older copy, or another vault.",
    discussion: """
      Use it for a backup that you put back, or a vault that you replaced. This is exactly what an attacker would want you to \
      run. First make sure the newer vault is really lost or unwanted. A copy of a vault that this machine knows at another \
      place becomes writable; the memory of that other place stays. With --for-all the vault also gets a new key, and the \
      command prints an invitation for the file that COFFER_EXPECT_VAULT names on other machines. A machine that has not seen \
      the new key then gives up its own memory of the vault, too.
      """)

  @Flag(help: "Give the vault a new key, and print an invitation that makes all machines accept it.") var forAll = false

  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    try context.checkIsNoMirror()
    let locked = try context.lockedVault()
    var memory: PinMemory?
    // An unreadable pin may be the reason to accept the vault.
    do throws(StoreError) { memory = try locked.pinMemory() } catch {}
    var rotation: (Rotation, chosen: [VaultStatus.Slot])?
    let vault = try context.opening(locked) { credentials in
      // Nothing is accepted before all questions are answered.
      if forAll { rotation = try chosen(locked, memory?.invitation, credentials.copied(), context) }
      return try locked.unlockAcceptingPin(with: credentials)
    }
    let status = try vault.status()
    // An open vault goes by its own memory of newer commits.
    _ = try context.lockAgent()
    if let seen = memory?.seen, seen > status.generation { context.note("this machine forgets that it saw generation \(seen)") }
    if let (rotation, chosen) = rotation {
      return try rotation.perform(vault, context, json: options.json, chosen: chosen) {
        try $0.rotate(only: $1, shown: $2, progress: $3)
      }
    }
    if options.json { return try Output.json(Answer(id: vault.id.description, generation: status.generation)) }
    try Output.sentence("accepted vault \(vault.id) at \(locked.place), generation \(status.generation)")
  }

  /// The rotation to a new key, and the slots that stay after the question.
  ///
  /// - Parameter known: the newest key that this machine has seen.
  private func chosen(
    _ locked: LockedVault, _ known: Invitation?, _ credentials: consuming Credentials, _ context: Context
  ) throws -> (Rotation, chosen: [VaultStatus.Slot]) {
    var options = locked.options
    options.pins = nil
    let vault = try LockedVault.open(locked.place, options: options).unlock(with: credentials)
    let epoch = try vault.invitation().epoch
    if let known, known.epoch > epoch {
      throw StoreError(
        .refused, "the vault lost its key of epoch \(known.epoch), so that an invitation helps no machine that knows that key",
        place: locked.place.description,
        cure: "coffer vault pin accept on each machine, then coffer vault rotate: a slot that was removed since is back")
    }
    let slots = try vault.slots()
    let rotation = Rotation(sealingTo: slots, of: slots, endsOlderPins: true)
    return (rotation, try rotation.chosen(vault, context))
  }

  private struct Answer: Encodable { let id: String, generation: UInt64 }
}
