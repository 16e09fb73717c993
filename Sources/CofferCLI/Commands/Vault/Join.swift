internal import ArgumentParser
internal import Coffer
internal import CofferPlatform
internal import CofferTerminal
internal import CofferVault
internal import SystemPackage

struct VaultJoinCommand: OpeningCommand, AskingCommand {
  static let configuration = CommandConfiguration(
    commandName: "join", abstract: "Open a vault shared with you, and remember it on this machine.",
    discussion: """
      'coffer vault slot add --recipient' or 'coffer vault invite' prints the invitation on a machine that knows the vault. \
      Anyone can create a vault your identity opens. The invitation proves this is the right one. Without one, a terminal shows \
      the vault's claims about its key: compare them with 'coffer vault pin show' there. The identity's file can keep the \
      invitation, and so prove the vault wherever it is used.
      """)

  @Argument(help: "The vault: a path, a server's URL or a vault's name.") var place: String
  @Argument(help: ArgumentHelp("The invitation that you were given.", valueName: "PVINV1-…")) var given: String?
  @Flag(inversion: .prefixedNo, help: "Add the invitation to the identity's file, or not, without asking.") var save: Bool?
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    guard options.vault == nil else { throw ValidationError("give the place as an argument, not by --vault") }
  }

  func perform(_ context: Context) throws {
    let invitation = try given.map {
      try GivenInvitation.read($0, "the word after the place", several: "give one; the identity's file may hold others")
    }
    context.places.vault = try VaultPlace.given(VaultNames(context: context).place(place)).absolute()
    try context.checkIsNoMirror()
    var locked = try context.lockedVault()
    if let invitation { locked.options.invitations.append(invitation) }
    let identity = unlocking.identity ?? ProcessEnvironment.value("COFFER_IDENTITY")
    // Checks that would otherwise fail after the vault was joined.
    if save == true { try Self.checkSaving(to: locked.id, in: identity) }
    let vault = try Agreement.within { agreement in
      try context.opening(locked) { credentials in
        try locked.join(with: credentials) { claim in agreement.answer { try Self.confirm(claim, context) } }
      }
    }
    let proven = try vault.invitation()
    let file: String?
    do { file = try self.save(proven, of: vault, identity, context) } catch {
      throw Self.afterJoining(error, locked.place, proven)
    }
    let generation = try vault.status().generation
    if options.json {
      return try Output.json(
        Answer(
          vault: locked.place.description, id: vault.id.description, generation: generation, invitation: proven.description,
          saved: file))
    }
    try Output.line("joined vault \(vault.id) at \(locked.place), generation \(generation)")
    if let file { context.note("its invitation is in \(file)") }
  }

  /// Whether a person at the terminal confirms the vault. --yes does not: it would confirm any vault.
  private static func confirm(_ claim: Invitation, _ context: Context) throws -> Bool {
    guard let terminal = Terminal() else { return false }
    Output.message(
      """
      Nothing proves that this is the vault you were invited to; anyone could have created it. If it is the right one, a member \
      sees the same with coffer vault pin show:
      """)
    Output.message(
      Columns.align([["id", claim.vault.description], ["epoch", String(claim.epoch)], ["mark", claim.shortMark]]))
    return try terminal.confirm("Did you compare all three, and do they match?")
  }

  private static func checkSaving(to vault: VaultID, in identity: String?) throws {
    guard let identity else { throw Failure.usage("--save needs an identity's file", try: "--identity PATH, or COFFER_IDENTITY") }
    try IdentityFile.checkRoom(for: vault, in: identity)
  }

  /// Adds the invitation to the file `identity`, if that opened the vault and it is wanted; otherwise returns nil.
  private func save(_ invitation: Invitation, of vault: borrowing UnlockedVault, _ identity: String?, _ context: Context) throws
    -> String?
  {
    let isRecipient = try vault.slots().contains { $0.isInUse && $0.summary.kind == .recipient }
    guard let identity, isRecipient else {
      guard save != true else {
        throw Failure.usage("a secret other than the identity opened the vault", try: "the command without --save")
      }
      return nil
    }
    guard try save ?? agreesToSave(in: identity, context) else { return nil }
    try IdentityFile.add(invitation, to: identity)
    return identity
  }

  private static func afterJoining(_ error: any Error, _ place: VaultPlace, _ invitation: Invitation) -> any Error {
    guard let failure = Failure.of(error) else { return error }
    var said = Failure(
      failure.status, kind: failure.kind, "the vault is joined, but its invitation was not saved: \(failure.what)",
      cure: "correct that, then coffer vault join \(place) --save; or add this line to the identity's file: \(invitation)")
    (said.place, said.detail) = (failure.place, failure.detail)
    return said
  }

  private func agreesToSave(in path: String, _ context: Context) throws -> Bool {
    if context.yes { return true }
    guard !options.json, let terminal = Terminal() else { return false }
    return try terminal.confirm("Add the vault's invitation to \(path), to prove the vault wherever the file is used?")
  }

  private struct Answer: Encodable { let vault: String, id: String, generation: UInt64, invitation: String, saved: String? }
}

enum IdentityFile {
  /// Adds `invitation`, in place of an older one to the same vault. The file has its old or its new content at every
  /// instant, and keeps its mode.
  ///
  /// - Throws: `.denied` for anything but a regular file, such as a link, which would be replaced.
  static func add(_ invitation: Invitation, to path: String) throws {
    let mode = try mode(of: path)
    let content = try Identity.adding(invitation, to: Credentials.identity(at: FilePath(path)))
    try content.withBytes { (bytes) throws(StoreError) in try AtomicFile(FilePath(path)).replace(with: bytes, mode: mode) }
  }

  /// Checks that an invitation to `vault` can be added to the file at `path`, as far as that is known in advance.
  static func checkRoom(for vault: VaultID, in path: String) throws {
    _ = try mode(of: path)
    let others = try Identity.invitations(in: Credentials.identity(at: FilePath(path))).filter { $0.vault != vault }
    guard others.count < Invitation.most else {
      throw StoreError(
        .tooLarge(limit: Invitation.most), "the identity has \(Invitation.most) invitations, and no room for another",
        place: path, cure: "remove the line of a vault that you no longer use from the identity's file")
    }
    let folder = FilePath(path).removingLastComponent()
    guard access(folder.isEmpty ? "." : folder.string, W_OK) == 0 else {
      throw StoreError(errno: errno, "write to the folder of the identity's file", place: folder)
    }
  }

  private static func mode(of path: String) throws -> UInt32 {
    try GivenPath.check(path)
    var facts = stat()
    guard lstat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else {
      throw StoreError(.denied, "the identity's file cannot be replaced", place: path, cure: "give the path of the file itself")
    }
    return UInt32(facts.st_mode & 0o777)
  }
}
