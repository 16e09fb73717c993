internal import ArgumentParser
internal import Coffer
internal import CofferLogin
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault

struct ProviderCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "provider", abstract: "Name the servers that log in, with the client id that each gave you.",
    discussion: """
      A server and a client id are settings of this program, and no secret; the secret of a client is an item of the vault. A \
      server that has the name of a host is the one that 'coffer login HOST' asks.
      """,
    subcommands: [
      ProviderAddCommand.self, ProviderListCommand.self, ProviderRemoveCommand.self,
    ])
}

struct ProviderAddCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: "Name a server: by its issuer, or one that is known.",
    discussion: """
      Known are github, gitlab, google and microsoft, whose endpoints are public and fixed: --as says which one a host is. Of \
      any other server the issuer is asked where everything is, at each login. Where there is a vault, it is opened: it keeps \
      the client's secret, and forgets the one that the name had before.
      """)

  @Argument(help: "The name: the host that it logs in to, or another.") var name: String
  @Option(name: .customLong("as"), help: ArgumentHelp("github, gitlab, google or microsoft.", valueName: "name")) var known:
    String?
  @OptionGroup var server: ServerOptions
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: CommonOptions

  func perform(_ context: Context) throws {
    let name = try StoredName.check(name, as: "name")
    guard let client = server.clientID, !client.isEmpty else {
      throw Failure.usage(
        "a client id is missing", try: "--client-id ID, with the id of a program that you registered at the server")
    }
    let place: LoginServer.Place
    if let issuer = server.issuer {
      guard known == nil else { throw Failure.usage("--issuer and --as exclude each other", try: "one of them") }
      // An invalid address, or one without https, is reported here and not at the first login.
      _ = try AuthorizationServer(token: issuer)
      place = .issuer(issuer)
    } else if let found = LoginServer.known(known ?? name) {
      place = .known(found)
    } else {
      throw Failure.usage(
        "how '\(Printable.line(known ?? name))' logs in is not known",
        try: "--issuer URL, or --as github, gitlab, google or microsoft")
    }
    let servers = LoginServers(context: context)
    let added = LoginServer(place: place, client: client, scopes: server.scope, authority: try server.authority())
    // The name's previous secret belongs to another client, and perhaps to another server.
    if let secret = try server.secret() {
      try context.items().set(LoginServers.secret(secret, of: added), for: LoginServers.secretName(name), keeping: 0)
    } else {
      try servers.removeSecret(name)
    }
    try servers.set(added, as: name)
    let done = "\(Printable.line(name)) logs in at \(Printable.line(added.description))"
    context.done(done, elsewhere: done)
  }
}

private struct ProviderJSON: Encodable {
  let name: String, server: String, client: String
  let scopes: [String]

  init(_ name: String, _ server: LoginServer) {
    self.name = name
    self.server = server.description
    client = server.client
    scopes = server.scopes
  }
}

struct ProviderListCommand: Command {
  static let configuration = CommandConfiguration(commandName: "list", abstract: "List the named servers.")

  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let all = try LoginServers(context: context).all()
    guard !options.json else { return try Output.line(JSONText.encode(all.map(ProviderJSON.init))) }
    let rows = all.map { [$0.name, $0.server.description, $0.server.client] }
    try Table.show(
      Table(rows, under: ["NAME", "SERVER", "CLIENT"], footer: counted(all.count, "server")), elsewhere: rows)
  }
}

struct ProviderRemoveCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "Forget a server that has a name.",
    discussion: "Logins at it stay, and are renewed as before. The secret of its client goes with it, where the vault has one.")

  @Argument(help: "The name.") var name: String
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: CommonOptions

  func perform(_ context: Context) throws {
    let servers = LoginServers(context: context)
    guard try servers.server(name) != nil else { throw noServer(name) }
    // First, so that nothing is half removed if the vault cannot be opened.
    try servers.removeSecret(name)
    _ = try servers.remove(name)
    let done = "\(Printable.line(name)) is forgotten"
    context.done(done, elsewhere: done)
  }
}

private func noServer(_ name: String) -> StoreError {
  StoreError(.notFound, "no server has the name", key: name, cure: "coffer provider list shows names")
}
