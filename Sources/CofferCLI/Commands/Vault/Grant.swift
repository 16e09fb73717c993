internal import ArgumentParser
internal import Coffer
internal import CofferPlatform
internal import CofferTerminal
internal import CofferVaultRows

struct VaultGrantCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "grant", abstract: "Let roles of a vault's server read or write its tables, or none of both.",
    discussion: """
      A role gets exactly these rights, also to later tables of the vault's schema. Only the role that created the vault can \
      give them. They are the server's rules: a value also takes a secret that opens the vault. Exits with 77 if a role still \
      has more rights, because the server has them from elsewhere. Needs no secret.
      """)

  @Argument(help: ArgumentHelp("A role, and its rights.", valueName: "role=writer|reader|none")) var roles: [String] = []
  @Flag(help: "Print the SQL statements for the role that created the vault, and change nothing.") var sql = false
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    guard !roles.isEmpty else { throw ValidationError("give a role and its rights, such as ada=writer") }
  }

  func perform(_ context: Context) throws {
    let roles = try ServerRole.given(roles)
    let place = context.places.vault
    if sql {
      let statements = try roles.flatMap { try place.statements(granting: $0) ?? [] }
      guard !statements.isEmpty else { throw ServerRole.noServer(place) }
      return try Output.line(statements.joined(separator: "\n"))
    }
    let more = try place.grant(roles)
    if options.json {
      try Output.json(roles.map { Answer(role: $0.name, rights: $0.access.rawValue, hasMore: more.contains($0)) })
    } else {
      context.done(roles.map { "\(Printable.line($0.name)): \($0.access.rawValue)" }.joined(separator: ", "))
    }
    guard let role = more.first else { return }
    throw StoreError(
      .refused, "this role still has more rights: as a superuser, by another role, or by PUBLIC", key: role.name,
      place: place.description, cure: "REVOKE the other role from it in psql; \\dp shows who gave which rights")
  }

  private struct Answer: Encodable { let role: String, rights: String, hasMore: Bool }
}

extension ServerRole {
  static func given(_ texts: [String]) throws -> [ServerRole] {
    let roles = try texts.map(given)
    if let twice = roles.first(where: { role in roles.count { $0.name == role.name } > 1 }) {
      throw Failure.usage("the role '\(Printable.line(twice.name))' is named twice", try: "it once, with the rights that it gets")
    }
    return roles
  }

  /// Of `ROLE=writer`. A role's name may have an equals sign.
  private static func given(_ text: String) throws -> ServerRole {
    let rights = Access.allCases.map(\.rawValue)
    guard let mark = text.lastIndex(of: "="), let access = Access(rawValue: String(text[text.index(after: mark)...])) else {
      throw Failure.usage(
        "'\(Printable.line(text))' names no role and rights", try: rights.map { "ROLE=\($0)" }.joined(separator: ", "))
    }
    return try ServerRole(name: String(text[..<mark]), access: access)
  }

  static func noServer(_ place: VaultPlace) -> Failure {
    .usage("a vault in a file has no roles: \(place.short)", try: "the owner and mode of the file say who reads it")
  }

  /// The next step of the owner of new tables.
  static let advice = "only your role can use its tables: coffer vault grant ROLE=writer lets another one in"
}
