internal import CofferStorage
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

/// Answers cargo's requests from the vault.
///
/// Source: the Cargo book, "Credential Provider Protocol", version 1. A request and an answer are a line of JSON each.
struct CargoProvider {
  /// Bytes of a request, at most: two URLs, the headers of a server's answer and a token.
  static let largest = 1 << 18

  let context: Context

  /// A get is the same for every operation.
  struct Request {
    var version = 0
    var kind = ""
    var index = ""
    var registry = ""
    var token: SecretForm?
    var words: [String] = []

    init(_ line: borrowing SecretBytes) throws {
      try line.withUnsafeBytes { raw in
        var scanner = JSONScanner(raw, place: "cargo's request", outcome: "nothing was done")
        try scanner.object { scanner, name in
          switch name {
          case "v": version = try scanner.number()
          case "kind": kind = try scanner.text()
          case "token": token = try scanner.secretOrNothing()
          case "args": try scanner.array { words.append(try $0.text()) }
          case "registry":
            try scanner.object { scanner, name in
              switch name {
              case "index-url": index = try scanner.text()
              case "name": registry = try scanner.textOrNothing()
              default: try scanner.skip()
              }
            }
          default: try scanner.skip()
          }
        }
        try scanner.end()
      }
    }

    private static let ownPrefix = "cargo-registry:"

    /// The item's name: as in cargo's own keychains, or as in its configuration.
    var service: String { words.first ?? Self.ownPrefix + index }

    /// Whether cargo made the item: neither a logout nor a replacement keeps an old token.
    static func isOfCargo(_ item: VaultItem) -> Bool { item.name.service.hasPrefix(ownPrefix) }
    var account: String? { words.count > 1 ? words[1] : nil }
  }

  /// Nil at the end.
  static func line(from descriptor: Int32) throws -> SecretBytes? {
    // A byte at a time: input after the line is left, and a request has some hundred bytes.
    let line = try SecretReader.request("cargo's request", of: "cargo", descriptor, limit: largest, step: 1) { $0.last == 0x0A }
    return line.count > 0 ? try line.withoutTrailingNewline(.lineFeedOrCRLF) : nil
  }

  func answer(_ line: borrowing SecretBytes) throws {
    do { try perform(Request(line)) } catch {
      guard let failure = Failure.of(error), failure.status != .pipeClosed else { throw error }
      let key = failure.key.map { "'\($0)': " } ?? ""
      let cure = failure.cure.map { "; try: \($0)" } ?? ""
      try refuse(Refusal(kind: "other", message: Printable.line(key + failure.what + cure), causes: []))
    }
  }

  private func perform(_ request: Request) throws {
    guard request.version == 1 else {
      throw Failure.usage("cargo uses protocol version \(request.version)", try: "a newer coffer")
    }
    let registry = request.registry.isEmpty ? request.index : request.registry
    switch request.kind {
    case "get":
      context.reason = "cargo wants the token of \(registry)."
      try get(request)
    case "login":
      context.reason = "cargo wants to keep the token of \(registry)."
      try login(request, registry)
    case "logout":
      context.reason = "cargo wants to forget the token of \(registry)."
      try logout(request)
    default: try refuse(Refusal(kind: "operation-not-supported"))
    }
  }

  private func get(_ request: Request) throws {
    guard let found = try HostCredential.find(request.service, request.account, in: context.itemsToRead()) else {
      return try refuse(Refusal(kind: "not-found"))
    }
    let token = try found.secret.line(of: found.name, for: "cargo")
    // git's helper may have stored an end beyond cargo's numbers: the token is as good as one without.
    let expires = found.expires.flatMap { Int64(exactly: $0.timeIntervalSince1970.rounded(.down)) }
    let cache = expires.map { "\"cache\":\"expires\",\"expiration\":\($0)" }
    try JSONText.write(
      "{\"Ok\":{\"kind\":\"get\",\(cache ?? "\"cache\":\"session\""),\"operation_independent\":true,\"token\":", token.bytes,
      "}}\n")
  }

  private func login(_ request: Request, _ registry: String) throws {
    try AuthAccounts.checkFree(service: request.service)
    let token = try request.token ?? typed(registry)
    try AuthAccounts.check(token.bytes)
    let items = try context.itemsToRead()
    if let there = try HostCredential.first(request.service, request.account, in: items) {
      try HostCredential.replace(there, with: token, in: items, keeping: Request.isOfCargo(there) ? 0 : nil)
    } else {
      let metadata = ItemMetadata(label: "Token of the registry \(registry)", contentType: "text/plain")
      let name = try ItemName(service: request.service, account: request.account ?? "")
      try items.set(token.with(metadata), for: name, if: .absent, keeping: 0)
    }
    try Output.line("{\"Ok\":{\"kind\":\"login\"}}")
  }

  private func typed(_ registry: String) throws -> SecretForm {
    guard let terminal = Terminal() else {
      throw Failure.usage("there is no token, and no terminal to ask at", try: "cargo login with the token on standard input")
    }
    return SecretForm(try terminal.secret(Question("Token for \(registry)")))
  }

  private func logout(_ request: Request) throws {
    let items = try context.itemsToRead()
    guard let there = try HostCredential.first(request.service, request.account, in: items) else {
      return try refuse(Refusal(kind: "not-found"))
    }
    let end = Request.isOfCargo(there) ? nil : Trash.end(there, context)
    try items.remove(there.name, if: there.isUnchanged, keptUntil: end)
    try Output.line("{\"Ok\":{\"kind\":\"logout\"}}")
  }

  private struct Refusal: Encodable {
    let kind: String
    var message: String?, causes: [String]?

    private enum CodingKeys: String, CodingKey {
      case kind, message
      case causes = "caused-by"
    }
  }

  private func refuse(_ refusal: Refusal) throws { try Output.line(JSONText.encode(["Err": refusal])) }
}
