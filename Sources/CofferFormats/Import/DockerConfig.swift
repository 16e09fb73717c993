package import CofferMemory
internal import CofferStorage

/// The passwords in docker's and podman's `config.json` and `auth.json`.
///
/// The service is `docker:SERVER`, so that `docker-credential-coffer` finds it. Source:
/// docs.docker.com/reference/cli/docker/login, and `cli/config/configfile` of github.com/docker/cli.
package struct DockerConfig {
  private var found = ImportedEntries()

  /// The service of a server's credentials. The prefix separates them from git's, which may have another password for the
  /// host.
  package static func service(of server: String) -> String { servicePrefix + server }
  package static let servicePrefix = "docker:"

  /// The account by which docker's clients recognize a token.
  private static let tokenUser = "<token>"

  package static func read(_ file: borrowing SecretBytes, place: String) throws -> ImportedEntries {
    try file.withUnsafeBytes { raw in
      var scanner = JSONScanner(raw, place: place)
      var reader = DockerConfig()
      try scanner.object { scanner, name in
        // docker uses Go's decoder, which ignores the case of names.
        guard name.lowercased() == "auths", scanner.peek() == UInt8(ascii: "{") else { return try scanner.skip() }
        try scanner.object { try reader.readServer(&$0, $1) }
      }
      try scanner.end()
      return reader.found
    }
  }

  private mutating func readServer(_ scanner: inout JSONScanner, _ server: String) throws {
    var auth: SecretForm?, token: SecretForm?, password: SecretForm?
    var registry: SecretForm?
    var (user, email) = ("", "")
    _ = scanner.peek()
    let start = scanner.offset
    try scanner.object { scanner, name in
      switch name.lowercased() {
      case "email": email = try scanner.textOrNothing()
      case "registrytoken": registry = try scanner.secretOrNothing()
      case "auth": auth = try scanner.secretOrNothing()
      case "identitytoken": token = try scanner.secretOrNothing()
      case "username": user = try scanner.textOrNothing()
      case "password": password = try scanner.secretOrNothing()
      default: try scanner.skip()
      }
    }
    var entry = ImportedEntry()
    entry.title = "Docker credentials of \(server)"
    entry.service = Self.service(of: server)
    entry.urls = [server]
    if let auth {
      guard let parts = try Self.parts(auth) else { return found.leaveOut(server, "'auth' is not a user and password in Base64") }
      (user, password) = parts
    }
    entry.user = token == nil ? user : Self.tokenUser
    entry.value = token ?? password
    if token != nil {
      entry.say(user, as: "username")
      entry.add(password, as: "password")
    }
    entry.add(registry, as: "registrytoken")
    entry.say(email, as: "email")
    entry.cuts = [ImportedEntry.Cut(range: start..<scanner.offset, stub: "{}")]
    guard entry.hasSecret else { return found.leaveOut(server, LeftOut.inCredentialHelper) }
    found.add(entry)
  }

  private static func parts(_ auth: SecretForm) throws -> (String, SecretForm?)? {
    guard let decoded = try SecretBase64.decode(auth.bytes) else { return nil }
    return try decoded.withUnsafeBytes { raw in
      guard let (user, password) = raw[...].parted(at: ":") else { return nil }
      return (user.word, try SecretForm.copy(password.prefix { $0 != 0 }))
    }
  }
}
