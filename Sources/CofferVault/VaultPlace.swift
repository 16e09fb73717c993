package import CofferPlatform
internal import CofferStorage
public import SystemPackage

/// Where a vault is: the path of its file. A text that a user gives is one, and so is a literal.
///
/// ```swift
/// let vault = try LockedVault.open("/srv/app/vault.sqlite", options: options)
/// let other = try LockedVault.open(.file(path), options: options)
/// ```
///
/// A URL such as `postgresql://host/database` would name a vault on a server, which this version cannot open: every call that opens or makes a
/// vault throws ``/CofferPlatform/StoreError/Kind/unsupported`` for one. A path that looks like a URL is given with `./` before it.
public struct VaultPlace: Sendable, Hashable {
  private enum Kind: Sendable, Hashable {
    case file(FilePath)
    /// With its scheme.
    case server(Substring, url: String)
  }
  private let kind: Kind

  private init(_ kind: Kind) { self.kind = kind }

  /// The place that `text` names, as a user writes it: a path, or a URL. A relative path begins at the folder that is current when the vault
  /// is opened.
  public init(_ text: String) {
    kind = Self.scheme(of: text).map { .server($0, url: text) } ?? .file(FilePath(text))
  }

  /// The vault in the file at `path`, whatever the path looks like.
  public static func file(_ path: FilePath) -> VaultPlace { VaultPlace(.file(path)) }

  /// The vault's file; nil for a place that is none.
  public var path: FilePath? {
    switch kind {
    case .file(let path): path
    case .server: nil
    }
  }

  /// The vault's file.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/unsupported`` for a place on a server.
  package func file() throws(StoreError) -> FilePath {
    if let path { return path }
    throw StoreError(
      .unsupported, "a vault on a server cannot be opened by this version", place: description,
      cure: "give the path of a file; one that looks like a URL is given with ./ before it")
  }

  /// The same place, whichever folder is current when it is opened.
  package func absolute() throws(StoreError) -> VaultPlace {
    guard let path else { return self }
    return .file(try TrustedPath.absolute(path))
  }

  /// What stands before `://` in a URL: RFC 3986, 3.1; nil for anything else.
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
  /// The place that the literal names, as ``init(_:)`` reads it.
  public init(stringLiteral text: String) { self.init(text) }
}

extension VaultPlace: CustomStringConvertible {
  /// The path; of a URL the scheme alone, as the rest may hold a password.
  public var description: String {
    switch kind {
    case .file(let path): path.string
    case .server(let scheme, _): "\(scheme)://…"
    }
  }
}
