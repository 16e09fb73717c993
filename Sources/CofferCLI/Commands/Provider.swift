internal import ArgumentParser
internal import CofferLogin
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal

struct ProviderCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "provider", abstract: "Name the servers for logins, with your client id at each.",
    discussion: """
      Servers and client ids are settings, and not secret; the secret of a client is an item of the vault. 'coffer login HOST' \
      asks the server that has the host's name.
      """,
    subcommands: [
      ProviderAddCommand.self, ProviderListCommand.self, ProviderRemoveCommand.self,
    ])
}

struct ProviderAddCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: "Name a server, by its issuer or as a built-in one.",
    discussion: """
      github, gitlab, google and microsoft are built in: their endpoints are public and fixed, and --as picks one for a host. \
      For any other server, each login asks the issuer for the endpoints. If there is a vault, it is opened to store the \
      client's secret, and to remove the previous one of that name.
      """)

  @Argument(help: "The host to log in to, or another name.") var name: String
  @Option(name: .customLong("as"), help: ArgumentHelp("github, gitlab, google or microsoft.", valueName: "name")) var known:
    String?
  @OptionGroup var server: ServerOptions
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: CommonOptions

  func perform(_ context: Context) throws {
    let name = try StoredName.check(name, as: "name")
    guard let client = server.clientID, !client.isEmpty else {
      throw Failure.usage("a client id is missing", try: "--client-id ID, the id of a program registered at the server")
    }
    let place: LoginServer.Place
    if let issuer = server.issuer {
      guard known == nil else { throw Failure.usage("--issuer and --as exclude each other", try: "one of them") }
      // An invalid address is reported here and not at the first login.
      _ = try AuthorizationServer(token: issuer)
      place = .issuer(issuer)
    } else if let found = LoginServer.known(known ?? name) {
      place = .known(found)
    } else {
      throw Failure.usage(
        "the login server of '\(Printable.line(known ?? name))' is not known",
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
    context.told("\(Printable.line(name)) logs in at \(Printable.line(added.description))")
  }
}

private struct ProviderJSON: Encodable {
  let name: String, server: String, client: String
  let scopes: [String]

  init(_ name: String, _ server: LoginServer) {
    (self.name, self.server, client, scopes) = (name, server.description, server.client, server.scopes)
  }
}

struct ProviderListCommand: Command {
  static let configuration = CommandConfiguration(commandName: "list", abstract: "List the named servers.")

  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let all = try LoginServers(context: context).all()
    guard !options.json else { return try Output.json(all.map(ProviderJSON.init)) }
    let rows = all.map { [$0.name, $0.server.description, $0.server.client, $0.server.scopes.joined(separator: " ")] }
    try Table.show(
      Table(rows, under: ["NAME", "SERVER", "CLIENT", "SCOPES"], footer: counted(all.count, "server")),
      elsewhere: rows.map { Array($0.dropLast()) })
  }
}

struct ProviderRemoveCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "Forget a named server.",
    discussion: "Its logins stay, and are renewed as before. The vault's copy of its client's secret is removed.")

  @Argument(help: "The name.") var name: String
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: CommonOptions

  func perform(_ context: Context) throws {
    let servers = LoginServers(context: context)
    guard try servers.server(name) != nil else {
      throw StoreError(.notFound, "there is no such login server", key: name, cure: "coffer provider list shows the names")
    }
    // First, so that nothing is half removed if the vault cannot be opened.
    try servers.removeSecret(name)
    _ = try servers.remove(name)
    context.told("\(Printable.line(name)) is removed")
  }
}
