internal import CofferKeys
internal import CofferPlatform
internal import CofferVault

/// The uses that a key admits, and those that a person approves first.
struct KeyRules: Sendable {
  enum Ask: String, Sendable { case never, forwarded, always, passphrase }
  /// Uses beyond logins and signatures of files.
  enum Extra: String, Sendable { case age, ca, other }

  fileprivate(set) var destinations: [Destination] = []
  /// In UTF-8: texts that Unicode takes for equal are different ones to programs.
  private var namespaces: Set<[UInt8]> = []
  private var extras: Set<Extra> = []
  /// Whether it is for the listed uses only.
  private(set) var isBound = false
  private(set) var ask = Ask.forwarded

  /// Those of a key that `ssh-add` brought. Unless bound to destinations it signs anything, as in OpenSSH's agent.
  init(_ destinations: [Destination]?, asks: Bool) {
    (self.destinations, isBound, ask) = (destinations ?? [], destinations != nil, asks ? .always : .never)
    if destinations == nil { extras = [.other] }
  }

  /// Requires that the rules admit a use; nil unwraps.
  ///
  /// - Returns: the names of the servers on the way.
  /// - Throws: ``StoreError`` `.refused`, with the reason.
  func admit(_ purpose: SigningPurpose?, through route: Route) throws(StoreError) -> [String] {
    switch purpose {
    case .login(let login):
      return isBound ? try destinations.admit(login, through: route) : route.names(of: login)
    case .file(let namespace):
      guard !isBound || namespaces.contains(Array(namespace.utf8)) else {
        throw .useRefused("sign:\(namespace) is not in its rules")
      }
    case .certificate:
      guard !extras.isDisjoint(with: [.ca, .other]) else { throw .useRefused("ca is not in its rules") }
    case .other:
      guard extras.contains(.other) else { throw .useRefused("the data are no login and no file, and other is not in its rules") }
    case nil:
      guard !isBound || extras.contains(.age) else { throw .useRefused("age is not in its rules") }
    }
    return isBound ? try destinations.admit(route, user: nil) : route.servers.map(\.fingerprint)
  }

  /// Whether a list for `route` has the key: as in OpenSSH's agent.
  func shows(to route: Route) -> Bool {
    guard isBound, !route.servers.isEmpty else { return true }
    // The reason is for a use.
    do throws(StoreError) { return try !destinations.admit(route, user: nil).isEmpty } catch { return false }
  }

  /// Whether a person is asked before a use.
  func asks(for route: Route) -> Bool {
    switch ask {
    case .never: false
    case .forwarded: route.isForwarded
    case .always, .passphrase: true
    }
  }
}

extension KeyUse {
  /// Bytes of a user's name or a namespace: those of systems are shorter, and people read them in questions.
  private static let longestName = 256

  /// That of its data; nil for an unwrapping.
  ///
  /// - Throws: ``StoreError`` `.refused` for a name that nobody would read.
  func purpose() throws(StoreError) -> SigningPurpose? {
    guard case .sign(let data, _) = work else { return nil }
    let purpose = data.withBytes { SigningPurpose($0, by: blob) }
    guard purpose.shown.detail.utf8.count <= Self.longestName else {
      throw .useRefused("its user's name or namespace is too long")
    }
    return purpose
  }
}

extension SigningPurpose {
  /// As the log of uses holds it, and as questions and approvals name it.
  var shown: (kind: UseRow.Kind, detail: String, words: String) {
    switch self {
    case .login(let login): (.login, login.user, "login")
    case .file(let namespace): (.sign, namespace, "sign \(namespace)")
    case .certificate: (.sign, "a certificate", "certify")
    case .other: (.sign, "other data", "sign-other")
    }
  }
}

extension Route {
  /// The servers of a login without rules: by their keys, and unknown if the client did not bind the connection.
  fileprivate func names(of login: SigningPurpose.Login) -> [String] {
    let isBound = servers.last.map { $0.sessionID == login.sessionID && !$0.isForwarding } ?? false
    return servers.map(\.fingerprint) + (isBound ? [] : [Self.unknown])
  }
}

/// The attributes of an item.
extension KeyRules {
  /// Each is compared with each server on the way. 128 take microseconds.
  private static let mostLines = 128
  /// Attributes with a host's key. An item has at most 64 attributes.
  private static let mostHosts = 40

  /// - Throws: ``StoreError`` `.undecodable` for a rule that is not one, with its line: a key whose rules cannot be read is not
  ///   used.
  init(_ metadata: ItemMetadata) throws(StoreError) {
    let hosts = metadata.attributes.filter { $0.key.utf8.starts(with: ItemMetadata.useHost.utf8) }.values
    guard hosts.count <= Self.mostHosts else { throw .malformedRule("\(hosts.count) keys of hosts", "at most \(Self.mostHosts)") }
    var known: [String: [KnownKey]] = [:]
    for line in hosts {
      guard let (host, key) = try Self.knownKey(line) else { continue }
      known[host, default: []].append(key)
    }
    if let text = metadata.attributes[ItemMetadata.useAsk] {
      guard let ask = Ask(rawValue: text) else { throw .malformedRule(text, "never, forwarded, always or passphrase") }
      self.ask = ask
    }
    guard let text = metadata.attributes[ItemMetadata.useFor] else { return }
    isBound = true
    let lines = text.utf8.split(separator: UInt8(ascii: "\n"))
    guard lines.count <= Self.mostLines else { throw .malformedRule("\(lines.count) rules", "at most \(Self.mostLines)") }
    for line in lines { try add(String(Substring(line)), known) }
  }

  private mutating func add(_ line: String, _ known: [String: [KnownKey]]) throws(StoreError) {
    if let extra = Extra(rawValue: line) {
      extras.insert(extra)
    } else if line.hasPrefix("sign:") {
      let namespace = String(line.dropFirst(5))
      guard !namespace.isEmpty else { throw .malformedRule(line, "sign:NAMESPACE") }
      namespaces.insert(Array(namespace.utf8))
    } else {
      let hops = line.split(separator: ">", omittingEmptySubsequences: false)
      guard hops.count <= 2, let last = hops.last else { throw .malformedRule(line, "host>[user@]host") }
      let parts = last.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
      let user = parts.count == 2 ? String(parts[0]) : nil
      guard user?.isEmpty != true, let host = parts.last else { throw .malformedRule(line, "[user@]host") }
      destinations.append(
        Destination(
          from: hops.count == 2 ? try Self.hop(hops[0], line, known) : nil, user: user, to: try Self.hop(host, line, known)))
    }
  }

  private static func hop(_ host: Substring, _ line: String, _ known: [String: [KnownKey]]) throws(StoreError) -> Destination.Hop
  {
    guard isName(host) else { throw .malformedRule(line, "[user@]host, sign:NAMESPACE, age, ca or other") }
    let host = host.lowercased()
    guard let keys = known[host], keys.contains(where: { $0.role != .revoked }) else {
      throw StoreError(
        .incomplete, "no key of the host '\(host)' that Coffer can verify is known", cure: "log in there once with ssh")
    }
    return Destination.Hop(host: host, keys: keys)
  }

  /// A plain name of a host: patterns and hashes stand for several.
  private static func isName(_ text: Substring) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { 0x21...0x7E ~= $0 && !"*?!|,@>\"'\\".utf8.contains($0) }
  }

  /// `[@cert-authority|@revoked] HOST TYPE BASE64`. Nil for a type that is not verified, which admits nobody.
  private static func knownKey(_ line: String) throws(StoreError) -> (host: String, KnownKey)? {
    var words = line.split(separator: " ")
    let roles: [Substring: KnownKey.Role] = ["@cert-authority": .authority, "@revoked": .revoked]
    let role = words.first.flatMap { roles[$0] }
    if role != nil { words.removeFirst() }
    guard words.count >= 3, isName(words[0]) else { throw .malformedRule(line, "HOST TYPE BASE64, with a plain name") }
    do throws(StoreError) {
      let key = try SSHPublicKey(line: words[1...2].joined(separator: " "))
      return (words[0].lowercased(), KnownKey(key: key, role: role ?? .host))
    } catch {
      guard error.kind == .unsupported else { throw .malformedRule(line, "HOST TYPE BASE64") }
      return nil
    }
  }

  /// Requires rules that fit the kind of a key, at its arrival.
  func check(isAge: Bool) throws(StoreError) {
    guard isAge ? destinations.isEmpty && namespaces.isEmpty && extras.isSubset(of: [.age]) : !extras.contains(.age) else {
      throw .malformedRule(isAge ? "a login or a signature" : "age", isAge ? "age, for an identity" : "a login or a signature")
    }
  }
}
