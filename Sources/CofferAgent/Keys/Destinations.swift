internal import CofferKeys
internal import CofferPlatform
internal import FoundationEssentials

/// The servers between a user and the agent, the nearest first, each proven by its host key.
struct Route: Sendable {
  struct Server: Sendable {
    /// Its host key or certificate, as SSH sends it.
    let blob: [UInt8]
    /// Nil if its type cannot be verified: it stands in the way, and no rule admits it.
    let key: SSHPublicKey?
    let certificate: SSHCertificate?
    let sessionID: [UInt8]
    let isForwarding: Bool

    var fingerprint: String { key?.fingerprint ?? Route.unknown }
  }

  static let unknown = "unknown host"
  private(set) var servers: [Server] = []

  var isForwarded: Bool { servers.contains(where: \.isForwarding) }

  /// Verifies at most ``KeyLimits/mostBindings`` signatures. Each takes microseconds, with the longest RSA key 2 ms.
  ///
  /// - Throws: ``StoreError`` `.refused` for a signature that does not verify, for too many, and for an order that OpenSSH's
  ///   agent does not record.
  ///
  /// Source: OpenSSH's PROTOCOL.agent, "session-bind@openssh.com".
  init(_ bindings: [SessionBinding]) throws(StoreError) {
    guard bindings.count <= KeyLimits.mostBindings else { throw .useRefused("the connection names too many servers") }
    for binding in bindings {
      guard servers.last?.isForwarding ?? true else { throw .useRefused("the connection was forwarded though bound for a login") }
      guard 1...KeyLimits.longestSession ~= binding.sessionID.count else {
        throw .useRefused("a session's id has a wrong length")
      }
      let server = try Self.server(binding)
      if let known = servers.first(where: { $0.sessionID == server.sessionID }) {
        guard known.blob == server.blob else { throw .useRefused("two servers claim one session") }
        continue
      }
      servers.append(server)
    }
  }

  private static func server(_ binding: SessionBinding) throws(StoreError) -> Server {
    var (key, certificate): (SSHPublicKey?, SSHCertificate?)
    do throws(StoreError) {
      if try SSHKeyType.of(binding.hostKey).isCertificate {
        certificate = try SSHCertificate(blob: binding.hostKey)
        key = certificate?.key
      } else {
        key = try SSHPublicKey(blob: binding.hostKey)
      }
    } catch {
      guard error.kind == .unsupported else { throw .useRefused("a server's host key is malformed") }
    }
    let isProven = key.map { key in
      binding.signature.withBytes { signature in binding.sessionID.withBytes { key.verify(signature, of: $0) } }
    }
    guard isProven ?? true else { throw .useRefused("a server's signature does not verify") }
    return Server(
      blob: binding.hostKey, key: key, certificate: certificate, sessionID: binding.sessionID, isForwarding: binding.isForwarding)
  }
}

/// One way of a key: to a host, either from here or from another host. Source: OpenSSH's PROTOCOL.agent,
/// "restrict-destination-v00@openssh.com".
struct Destination: Sendable {
  struct Hop: Sendable {
    let host: String
    /// Without any, none matches.
    let keys: [KnownKey]

    func matches(_ server: Route.Server, at time: Date) -> Bool {
      guard let key = server.key else { return false }
      let shown = [key, server.certificate?.authority]
      guard !keys.contains(where: { $0.role == .revoked && shown.contains($0.key) }) else { return false }
      guard let certificate = server.certificate else { return keys.contains { $0.role == .host && $0.key == key } }
      return certificate.proves(
        host: host.withoutPort, at: UInt64(max(0, time.timeIntervalSince1970)),
        authorities: keys.lazy.filter { $0.role == .authority }.map(\.key))
    }
  }

  /// Nil from here.
  let from: Hop?
  /// A pattern of users' names; nil for all.
  let user: String?
  let to: Hop
}

/// A key of a host, or of an authority for its certificates. Source: OpenSSH's sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT".
struct KnownKey: Sendable {
  enum Role: Sendable { case host, authority, revoked }
  let key: SSHPublicKey
  let role: Role
}

/// The rules of OpenSSH's agent: `identity_permitted` and `process_sign_request2` of its ssh-agent.c.
extension [Destination] {
  /// The names of the servers on the way to a login.
  ///
  /// - Throws: ``StoreError`` `.refused`, with the reason.
  func admit(_ login: SigningPurpose.Login, through route: Route) throws(StoreError) -> [String] {
    guard let last = route.servers.last else {
      throw .useRefused("the connection is not bound to a server: its rules need a client as OpenSSH 8.9")
    }
    let names = try admit(route, user: login.user)
    guard login.sessionID == last.sessionID else { throw .useRefused("the login is of another session than the connection") }
    guard login.hostKey != nil || route.servers.count == 1 else { throw .useRefused("the login names no host key") }
    guard login.hostKey ?? last.blob == last.blob else { throw .useRefused("the login names another host key") }
    return names
  }

  /// The names of the servers, by the rules that admit them.
  ///
  /// - Parameter user: that of a login; nil for anything else. A key is then of use on a server that forwards only if it may go
  ///   further.
  /// - Throws: ``StoreError`` `.refused`, with the reason.
  func admit(_ route: Route, user: String?) throws(StoreError) -> [String] {
    let time = Date()
    var names: [String] = [], before: Route.Server?
    for (index, server) in route.servers.enumerated() {
      let isLast = index == route.servers.count - 1
      guard !isLast || user == nil || !server.isForwarding else { throw .useRefused("tried to sign on forwarding hop") }
      guard let rule = first(from: before, to: server, user: isLast ? user : nil, at: time) else {
        let user = isLast ? user.map { "\($0.prefix(64))@" } ?? "" : ""
        throw .useRefused("\(user)\(name(of: server, at: time)) is not in its rules")
      }
      names.append(rule.to.host)
      before = server
    }
    if user == nil, let before, before.isForwarding, first(from: before, to: nil, user: nil, at: time) == nil {
      throw .useRefused("it is not for use beyond \(names.last ?? Route.unknown)")
    }
    return names
  }

  private func first(from: Route.Server?, to: Route.Server?, user: String?, at time: Date) -> Destination? {
    first { rule in
      (from.map { rule.from?.matches($0, at: time) ?? false } ?? (rule.from == nil))
        && (to.map { rule.to.matches($0, at: time) } ?? true)
        && (user.map { user in rule.user.map { user.matches(pattern: $0) } ?? true } ?? true)
    }
  }

  /// For a refusal: its name in any rule, else its key.
  private func name(of server: Route.Server, at time: Date) -> String {
    first { $0.to.matches(server, at: time) }?.to.host ?? server.fingerprint
  }
}

extension String {
  /// `host` of `[host]:port`: certificates name hosts without ports.
  fileprivate var withoutPort: String {
    guard hasPrefix("["), let end = firstIndex(of: "]") else { return self }
    return String(self[index(after: startIndex)..<end])
  }
}
