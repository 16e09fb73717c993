internal import Coffer
internal import CofferFormats
internal import CofferStorage
internal import CofferTerminal
internal import FoundationEssentials

/// Answers docker's requests from the vault.
///
/// Source: github.com/docker/docker-credential-helpers, `credentials/credentials.go` and `error.go`: clients look for these
/// exact texts.
struct DockerHelper {
  enum Action: String { case store, get, erase, list }

  enum Refusal {
    static let notFound = refusal("credentials not found in native keychain")
    static let noServer = refusal("no credentials server URL")
    static let noUser = refusal("no credentials username")
    static let usage = refusal("Usage: docker-credential-coffer <store|get|erase|list|version>")
    static func unknownAction(_ action: String) -> Failure { refusal("docker-credential-coffer: unknown action: \(action)") }
    private static func refusal(_ text: String) -> Failure { Failure(.notFound, kind: "docker", text, cure: nil) }
  }

  /// Bytes of a request, at most: an address, a user and a token.
  private static let largest = 1 << 18

  let context: Context

  func perform(_ action: Action) throws {
    switch action {
    case .store: try store()
    case .get: try get()
    case .erase: try erase()
    case .list: try list()
    }
  }

  private func store() throws {
    let request = try SecretReader.read(0, limit: Self.largest, what: "docker's request", place: "standard input")
    let (server, user, secret) = try Self.credential(in: request)
    guard !server.isEmpty else { throw Refusal.noServer }
    guard !user.isEmpty else { throw Refusal.noUser }
    context.reason = "docker wants to keep the password of \(server)."
    let items = try context.itemsToRead()
    let name = try ItemName(service: DockerConfig.service(of: server), account: user)
    try NewName.check(name)
    // A login with what get gave is no second credential.
    let given = try HostCredential.first(name.service, nil, at: Self.origin(of: server), in: items) { item in
      try GitCredential(item, in: items).map { (item, $0) }
    }
    if let (item, stored) = given, item.name.service != name.service, HostCredential.user(of: item).hasSameBytes(as: user),
      SecretForm.areSame(stored.password, secret)
    {
      return
    }
    let value = try secret.bytes.duplicate()
    let form = SecretForm(value, metadata: ItemMetadata(label: "Docker credentials of \(server)", contentType: "text/plain"))
    // One credential for each server: the previous user's would be handed out by chance.
    let others = try items.list(service: name.service).map(\.name).filter { $0 != name }
    try items.apply([.set(form, for: name)] + others.map { .remove($0) })
  }

  static func credential(in request: borrowing SecretBytes) throws -> (server: String, user: String, secret: SecretForm) {
    try request.withUnsafeBytes { raw in
      var scanner = JSONScanner(raw, place: "standard input", outcome: "nothing was stored")
      var (server, user) = ("", "")
      var secret = SecretForm(try SecretBytes(zeros: 0))
      try scanner.object { scanner, field in
        // Docker's own helpers are written in Go, whose decoder matches names in any case and skips the others.
        switch field.lowercased() {
        case "serverurl": server = try scanner.text()
        case "username": user = try scanner.text()
        case "secret": secret = SecretForm(try scanner.secretText())
        default: try scanner.skip()
        }
      }
      try scanner.end()
      return (server, user, secret)
    }
  }

  private func get() throws {
    let server = try server()
    context.reason = "docker wants the password of \(server)."
    let items = try context.itemsToRead()
    let found: HostCredential?
    do {
      found = try HostCredential.find(DockerConfig.service(of: server), nil, at: Self.origin(of: server), in: items)
    } catch let error as StoreError where error.kind == .expired { throw Refusal.notFound }
    guard let found else { throw Refusal.notFound }
    // Docker takes text of several lines too, such as the JSON key of a registry.
    guard found.secret.bytes.withUnsafeBytes({ UTF8Validity.isValid($0) }) else {
      throw StoreError(
        .unsupported, "the value is not text, and docker takes only text", key: found.name.description,
        cure: "store it as text: docker login \(CommandText.quoted(server))")
    }
    try JSONText.write(JSONText.encode(["ServerURL": server, "Username": found.user]), "Secret", found.secret.bytes)
  }

  /// Where docker sends a credential: without a scheme to HTTPS. A server with a user in it is none of docker's.
  private static func origin(of server: String) -> Origin? {
    guard let origin = Origin(server.contains("://") ? server : "https://" + server), origin.user == nil else { return nil }
    return origin
  }

  private func erase() throws {
    let server = try server()
    context.reason = "docker wants to forget the password of \(server)."
    let items = try context.itemsToRead()
    // Only what docker stored, also if deleted and restorable.
    let deleted = try items.deleted(service: DockerConfig.service(of: server)).map(\.item.name.item)
    let names = try Set(items.list(service: DockerConfig.service(of: server)).map(\.name) + deleted)
    guard !names.isEmpty else { throw Refusal.notFound }
    try items.apply(names.sorted().map { .remove($0) })
  }

  private func list() throws {
    let items = try context.itemsToRead().list().filter { $0.name.service.hasPrefix(DockerConfig.servicePrefix) }
    let users = items.sorted { $0.modified < $1.modified }.map { item in
      (String(item.name.service.dropFirst(DockerConfig.servicePrefix.count)), item.name.account)
    }
    try Output.line(JSONText.encode(Dictionary(users) { $1 }))
  }

  private func server() throws -> String {
    try Self.server(in: SecretReader.read(0, limit: Self.largest, what: "docker's request", place: "standard input"))
  }

  static func server(in request: borrowing SecretBytes) throws -> String {
    guard let text = request.withUnsafeBytes({ PlainBytes.text($0) }) else { throw Refusal.noServer }
    let server = text.split(whereSeparator: \.isNewline).joined().trimmedText
    guard !server.isEmpty else { throw Refusal.noServer }
    return server
  }
}
