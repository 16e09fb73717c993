internal import ArgumentParser
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault

struct CredentialKeyringCommand: HotCommand {
  static let configuration = CommandConfiguration(
    commandName: "keyring",
    abstract: "Answer pip and uv as the program keyring: get, set, del.",
    discussion: """
      'coffer install --keyring' puts the name keyring beside coffer, for --keyring-provider subprocess of pip and uv. A URL \
      means the login or the item of its host; any other service, the item of that name. set takes the password from standard \
      input.
      """)

  enum Operation: String, ExpressibleByArgument, CaseIterable { case get, set, del }
  enum Mode: String, ExpressibleByArgument, CaseIterable { case password, creds }
  enum Form: String, ExpressibleByArgument, CaseIterable { case plain, json }

  @Argument(help: "get, set or del.") var operation: Operation
  @Argument(help: "A URL, a host or the service of an item.") var service: String
  @Argument(help: "The user.") var username: String?
  @Option(help: ArgumentHelp("What get prints: the password, or with creds the user first.", valueName: "what"))
  var mode = Mode.password
  @Option(help: ArgumentHelp("The format: plain (one line each) or json.", valueName: "form")) var output = Form.plain
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: CommonOptions

  func claimInput(_ context: Context) throws {
    guard operation == .set else { return }
    guard username != nil else { throw Failure.usage("there is no user", try: "keyring set SERVICE USER") }
    try context.input.claim(for: "the password")
  }

  func perform(_ context: Context) throws {
    let origin = Origin(service)?.service
    // The part of a URL before its host may be a password.
    guard origin != nil || !(service.contains("://") && service.contains("@")) else {
      throw StoreError(.notFound, "the URL's host is ambiguous", cure: "a URL without a user")
    }
    let place = Printable.line(origin ?? service)
    switch operation {
    case .get:
      context.reason = "A program wants the password of \(place)."
      try get(context.itemsToRead())
    case .set:
      context.reason = "A program wants to keep the password of \(place)."
      try set(context)
    case .del:
      context.reason = "A program wants to forget the password of \(place)."
      try delete(context)
    }
  }

  private func get(_ items: VaultItems) throws {
    let found = try HostCredential.get(service, username, in: items)
    let password = try found.secret.line(of: found.name, for: "keyring")
    switch output {
    case .json where mode == .creds:
      try JSONText.write(JSONText.encode(["username": found.user]), "password", password.bytes)
    case .json: try JSONText.write("{}", "password", password.bytes)
    case .plain:
      if mode == .creds { try Output.line(found.user) }
      try Output.write(password.bytes)
      try Output.write("\n")
    }
  }

  /// Replaces the credential that `get` would return: there are never two.
  private func set(_ context: Context) throws {
    let read = try SecretReader.read(
      STDIN_FILENO, limit: SecretReader.largestValue, what: "the password", place: "standard input")
    let password = try read.withoutTrailingNewline(.lineFeedOrCRLF)
    guard password.count > 0 else { throw Failure.usage("the password is empty", try: "the password on standard input") }
    try AuthAccounts.checkFree(service: service)
    let items = try context.itemsToRead()
    guard let there = try HostCredential.first(service, username, in: items) else {
      let name = try ItemName(service: Origin(service)?.service ?? service, account: username ?? "")
      try NewName.check(name)
      try items.set(SecretForm(password, metadata: ItemMetadata(contentType: "text/plain")), for: name)
      return
    }
    try HostCredential.replace(there, with: SecretForm(password), in: items)
  }

  private func delete(_ context: Context) throws {
    let items = try context.itemsToRead()
    guard let there = try HostCredential.first(service, username, in: items) else {
      throw AuthAccounts.nobody(Origin(service)?.host ?? service, username)
    }
    try items.remove(there.name, if: there.isUnchanged, keptUntil: Trash.end(there, context))
  }

  mutating func take(_ line: inout HotLine) -> Bool {
    guard let operation = line.word().flatMap(Operation.init(rawValue:)), let service = line.word() else { return false }
    (self.operation, self.service, username) = (operation, service, line.word())
    (mode, output, unlocking, options) = (.password, .plain, line.unlockingOptions(), line.commonOptions())
    return true
  }
}
