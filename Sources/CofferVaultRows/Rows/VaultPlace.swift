package import CofferPlatform
internal import CofferStorage
public import SystemPackage

/// The place of a vault: the path of its file, or the URL of a server. Text and literals convert to a place.
///
/// ```swift
/// let vault = try LockedVault.open("/srv/app/vault.sqlite", options: options)
/// let other = try LockedVault.open(.file(path), options: options)
/// ```
///
/// A URL such as `postgresql://host/database#name` names a vault on a server. It needs the import of a library such as
/// `CofferPostgres`; without one, every call that opens or makes a vault throws
/// ``/CofferPlatform/StoreError/Kind/unsupported``. Put `./` before a path that looks like a URL.
public struct VaultPlace: Sendable {
  package enum Kind: Sendable {
    case file(FilePath)
    case server(ServerPlace)
    case mirror(FilePath)
  }
  let kind: Kind

  private init(_ kind: Kind) { self.kind = kind }

  /// The path or URL in `text`. A relative path is resolved when the vault is opened.
  public init(_ text: String) {
    kind = Self.scheme(of: text).map { .server(ServerPlace(scheme: String($0), url: text)) } ?? .file(FilePath(text))
  }

  /// The place in `text` from a user: also `mirror:` and the path of a mirror.
  package init(given text: String) {
    self =
      text.hasPrefix(Self.mirrorPrefix) ? .mirror(FilePath(String(text.dropFirst(Self.mirrorPrefix.count)))) : VaultPlace(text)
  }

  package static let mirrorPrefix = "mirror:"

  /// The text that ``init(given:)`` reads back.
  package var text: String { isMirror ? Self.mirrorPrefix + description : description }

  /// - Parameter names: the known names of the place, one for each of its hosts.
  package init(found url: String, scheme: String, names: [[UInt8]]) {
    kind = .server(ServerPlace(scheme: scheme, url: url, names: names))
  }

  /// A store that only keeps files, for errors: nothing opens it by this place.
  package init(remote address: String) { kind = .server(ServerPlace(scheme: "", url: address, shown: address)) }

  /// The vault in the file at `path`, even if the path looks like a URL.
  public static func file(_ path: FilePath) -> VaultPlace { VaultPlace(.file(path)) }

  /// The mirror at `path` of a vault on a server, made by ``/CofferVault/UnlockedVault/mirror(to:progress:)`` on this
  /// machine. Writes throw ``/CofferPlatform/StoreError/Kind/readOnly``. A refresh does not change an open mirror. A mirror
  /// older than its last refresh is ``/CofferPlatform/StoreError/Kind/rolledBack``, one made elsewhere
  /// ``/CofferPlatform/StoreError/Kind/unproven``.
  public static func mirror(_ path: FilePath) -> VaultPlace { VaultPlace(.mirror(path)) }

  /// The vault's file; nil for a server or a mirror.
  public var path: FilePath? {
    switch kind {
    case .file(let path): path
    case .server, .mirror: nil
    }
  }

  package var isMirror: Bool { mirrored != nil }

  private var mirrored: FilePath? {
    switch kind {
    case .mirror(let path): path
    case .file, .server: nil
    }
  }

  /// - Throws: ``/CofferPlatform/StoreError/Kind/readOnly`` for a mirror.
  package func checkIsNoMirror() throws(StoreError) {
    guard isMirror else { return }
    throw StoreError(
      .readOnly, "a mirror can only be read", place: description,
      cure: "open the vault itself, once its server can be reached", remedy: .leaveMirror)
  }

  /// - Throws: ``/CofferPlatform/StoreError/Kind/unsupported`` for a place on a server, `.readOnly` for a mirror.
  package func file() throws(StoreError) -> FilePath {
    if let path { return path }
    try checkIsNoMirror()
    _ = try server?.server()
    throw StoreError(
      .unsupported, "this needs a vault in a file, and this place is on a server", place: description,
      cure: "give the path of a file; one that looks like a URL is given with ./ before it")
  }

  package var server: ServerPlace? {
    switch kind {
    case .file, .mirror: nil
    case .server(let server): server
    }
  }

  /// For pins' names: the path of a file, or one name per host of a server that was reached.
  package var pinned: [[UInt8]] {
    switch kind {
    case .file(let path): [[UInt8](path.string.utf8)]
    case .server(let server): server.names
    case .mirror: []
    }
  }

  package var url: String? { server?.url }

  /// Does not contact a server.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.unsupported` for another kind of server, `.invalidName` for a malformed URL
  ///   or one with a password.
  package func check() throws(StoreError) { if let server { try server.server().check(server.url) } }

  /// Whether both name one database and name on one host, despite different URLs. Both must have been opened.
  package func isKnown(as other: VaultPlace) -> Bool { !Set(pinned).isDisjoint(with: other.pinned) }

  /// Calls `body` after possible commits to a vault on a server, and again after it throws; nil for a file.
  package func watchServer(_ body: @escaping @Sendable () throws(StoreError) -> Void) throws(StoreError) -> Subscription? {
    guard let server else { return nil }
    return try server.server().watch(server.url, body)
  }

  package var isOnKnownServer: Bool { server.map { VaultServers.server(forScheme: $0.scheme) != nil } ?? false }

  /// One turn covers the whole vault: a lock per item would reveal the item to the server. Nil while it is taken.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/unsupported`` for a file, which is locked itself.
  package func serverTurn() throws(StoreError) -> (any ServerTurn)? {
    try checkIsNoMirror()
    guard let server else {
      throw StoreError(.unsupported, "a file has no turns", place: description, cure: "lock a file beside it")
    }
    return try server.server().turn(server.url)
  }

  /// The same place, independent of the current folder.
  package func absolute() throws(StoreError) -> VaultPlace {
    if let mirrored { return .mirror(try TrustedPath.absolute(mirrored)) }
    guard let path else { return self }
    return .file(try TrustedPath.absolute(path))
  }

  /// The scheme of a URL (RFC 3986, 3.1); nil for any other text.
  private static func scheme(of text: String) -> Substring? {
    guard let colon = text.firstIndex(of: ":"), text[colon...].hasPrefix("://") else { return nil }
    let scheme = text[..<colon]
    let isScheme = scheme.utf8.enumerated().allSatisfy { index, byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."): index > 0
      default: false
      }
    }
    return isScheme && !scheme.isEmpty ? scheme : nil
  }
}

extension VaultPlace: ExpressibleByStringLiteral {
  /// The place that the literal names, as in ``init(_:)``.
  public init(stringLiteral text: String) { self.init(text) }
}

extension VaultPlace: Hashable {
  /// Whether both are the same path or URL.
  public static func == (left: VaultPlace, right: VaultPlace) -> Bool {
    switch (left.kind, right.kind) {
    case (.file(let left), .file(let right)): left == right
    case (.server(let left), .server(let right)): left.url == right.url
    case (.mirror(let left), .mirror(let right)): left == right
    default: false
    }
  }

  /// Hashes the path or the URL.
  public func hash(into hasher: inout Hasher) {
    switch kind {
    case .file(let path), .mirror(let path): hasher.combine(path)
    case .server(let server): hasher.combine(server.url)
    }
  }
}

extension VaultPlace: CustomStringConvertible {
  /// The path or the URL; only the scheme if the URL may hold a password or its server is unknown to this program.
  public var description: String {
    switch kind {
    case .file(let path), .mirror(let path): path.string
    case .server(let server): server.shown
    }
  }
}

/// A class, because an open vault passes its place in every call.
package final class ServerPlace: Sendable {
  let scheme: String
  package let url: String
  /// The known names of the place, one per host; empty until it was reached.
  let names: [[UInt8]]
  let shown: String

  package init(scheme: String, url: String, names: [[UInt8]] = [], shown: String? = nil) {
    self.scheme = scheme
    self.url = url
    self.names = names
    self.shown = shown ?? (Self.isSound(url, VaultServers.server(forScheme: scheme)) ? url : "\(scheme)://…")
  }

  private static func isSound(_ url: String, _ server: (any VaultServer)?) -> Bool {
    guard let server else { return false }
    do throws(StoreError) { try server.check(url) } catch { return false }
    return true
  }

  package func server() throws(StoreError) -> any VaultServer {
    if let server = VaultServers.server(forScheme: scheme) { return server }
    throw StoreError(
      .unsupported, "this program opens no vaults on servers of this kind", place: shown,
      cure: "give the path of a file; one that looks like a URL is given with ./ before it")
  }
}
