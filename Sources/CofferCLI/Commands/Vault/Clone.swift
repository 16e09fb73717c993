internal import ArgumentParser
internal import Coffer
internal import CofferPlatform
internal import CofferSync
internal import CofferTerminal
internal import CofferVault

struct VaultCloneCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "clone", abstract: "Make this machine's vault from a remote of 'vault sync'.",
    discussion: """
      A passphrase, key file or recovery code proves that the vault there is yours. An identity does not, and needs the \
      invitation that 'coffer vault invite' prints on a machine that knows the vault. The remote is remembered, as after 'coffer \
      vault sync REMOTE'. A remote can hand an old state to a machine that has seen none: compare the generation with 'coffer \
      vault sync --status' on another one.
      """)

  @Argument(help: "A folder, a git address, rclone:REMOTE:PATH or command:PROGRAM.") var remote: String
  @Argument(help: ArgumentHelp("The invitation that you were given.", valueName: "PVINV1-…")) var given: String?
  @Option(name: .customLong("as"), help: .machineName) var machine: String?
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func claimInput(_ context: Context) throws {
    try context.checkIsNoMirror()
    try context.checkName()
    try context.places.vault.checkIsFree()
    try context.checkNewFolder()
  }

  func perform(_ context: Context) throws {
    guard let file = context.places.vault.path else {
      throw Failure.usage("a vault on a server is no machine's own", try: "a path for --vault")
    }
    var options = try context.vaultOptions()
    if let given {
      options.invitations.append(
        try GivenInvitation.read(given, "the word after the remote", several: "give one; the identity's file may hold others"))
    }
    let sync = try VaultSync(remote, pins: context.places.pins, caches: context.places.caches)
    context.spin("Looking at \(sync.remote)")
    let stated = try sync.stated()
    StatusLine.clear()
    let question = "Passphrase of the vault at \(Printable.line(sync.remote))"
    let report = try Opening(stated.slots, of: context.places.vault, context, asking: question).open { credentials, _ in
      try sync.clone(to: file, with: credentials, options: options, SyncOptions(machine: machine ?? MachineName.host))
    }
    let newest = report.taken.max { $0.generation < $1.generation }
    let answer = Answer(
      vault: context.places.vault.description, id: stated.id.description, remote: sync.remote, items: report.items,
      generation: newest?.generation ?? 0, machine: newest?.machine ?? "")
    if self.options.json { return try Output.json(answer) }
    try Output.line(
      "cloned \(counted(answer.items, "item")), generation \(answer.generation), put by \(Printable.line(answer.machine))")
    context.note("compare the generation with 'coffer vault sync --status' on another machine")
  }

  private struct Answer: Encodable {
    let vault: String, id: String, remote: String, items: Int, generation: UInt64, machine: String
  }
}

extension ArgumentHelp {
  static var machineName: ArgumentHelp {
    ArgumentHelp("This machine's name for people at others, at its first sync.", valueName: "name")
  }
}
