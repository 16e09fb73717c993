public import CofferPlatform
internal import CofferStorage
public import SystemPackage

/// The places of Coffer's files. Programs and the command line compute the same ones, so that each finds the other's values.
///
/// With `COFFER_HOME` set, everything lies under that folder; otherwise the XDG base directories apply. `COFFER_VAULT` moves
/// only the vault.
///
/// Source: XDG Base Directory Specification 0.8 (a relative path in one of its variables is invalid and ignored).
public struct Places: Sendable, Equatable {
  /// The place of the vault.
  public var vault: VaultPlace
  /// The folder of property lists, one for each domain.
  public let defaults: FilePath
  /// The folder of rollback pins.
  public let state: FilePath
  /// The folder of sockets and locks. If the environment names none, it is the system's folder for this user's logins, or
  /// without that, one below the state folder.
  public let run: FilePath
  /// The folder of sealed files of remotes, which can be brought again.
  public let caches: FilePath
  /// The folder that holds all of these, if `COFFER_HOME` or a caller named one.
  public let home: FilePath?
  /// The value of `COFFER_EXPECT_VAULT` when these places were found.
  package var expectation: String?

  /// Everything under one folder: `data/vault.sqlite`, `config/`, `state/`, `cache/` and `run/`.
  public init(home: FilePath) { self.init(home: home, expectation: nil) }

  private init(home: FilePath, expectation: String?) {
    self.expectation = expectation
    vault = .file(home.appending("data").appending("vault.sqlite"))
    defaults = home.appending("config")
    state = home.appending("state")
    caches = home.appending("cache")
    run = home.appending("run")
    self.home = home
  }

  private init(
    data: FilePath, config: FilePath, state: FilePath, cache: FilePath, runtime: FilePath?, expectation: String?
  ) {
    self.expectation = expectation
    vault = .file(data.appending("coffer").appending("vault.sqlite"))
    defaults = config
    self.state = state.appending("coffer")
    caches = cache.appending("coffer")
    run = runtime?.appending("coffer") ?? self.state.appending("run")
    home = nil
  }

  /// The places of this process's user.
  ///
  /// - Parameter variable: looks up an environment variable; by default in the process's own environment.
  /// - Throws: ``/CofferPlatform/StoreError/Kind/denied`` when neither `HOME` nor the user database names a home folder, or
  ///   the folder of preferences belongs to another user; the error of `variable`.
  public static func standard(
    _ variable: (String) throws(StoreError) -> String? = Places.environment
  ) throws(StoreError) -> Places {
    var places = try folders(variable)
    if let vault = try variable("COFFER_VAULT"), !vault.isEmpty { places.vault = try VaultPlace(vault).absolute() }
    return places
  }

  private static func folders(_ variable: (String) throws(StoreError) -> String?) throws(StoreError) -> Places {
    let expectation = try variable("COFFER_EXPECT_VAULT").flatMap { $0.isEmpty ? nil : $0 }
    if let home = try variable("COFFER_HOME"), !home.isEmpty {
      return Places(home: try TrustedPath.absolute(FilePath(home)).lexicallyNormalized(), expectation: expectation)
    }
    let user = try userFolder(variable)
    func base(_ name: String, _ fallback: String) throws(StoreError) -> FilePath {
      folder(try variable(name)) ?? user.appending(fallback)
    }
    let config = try base("XDG_CONFIG_HOME", ".config")
    try TrustedPath.checkOwner(ofWayTo: config)
    return Places(
      data: try base("XDG_DATA_HOME", ".local/share"), config: config,
      state: try base("XDG_STATE_HOME", ".local/state"), cache: try base("XDG_CACHE_HOME", ".cache"),
      runtime: folder(try variable("XDG_RUNTIME_DIR")) ?? loginFolder(),
      expectation: expectation)
  }

  /// The value of `name` in this process's environment; nil when it is not set.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/invalidName`` if the value is not UTF-8: as text, two different folders
  ///   would be one.
  public static func environment(_ name: String) throws(StoreError) -> String? { try EnvironmentVariable.text(name) }

  /// The domain of Coffer's own settings, which no program's router opens.
  package static let settingsDomain = "coffer.settings"

  /// The property list of `domain`.
  public func propertyList(of domain: String) -> FilePath { defaults.appending(domain + ".plist") }

  private static func folder(_ path: String?) -> FilePath? {
    guard let path, case let folder = FilePath(path), folder.isAbsolute else { return nil }
    return folder
  }

  /// The folder that the system makes for a user at login, where an agent of the login listens. su, sudo, cron and some ways
  /// of ssh do not name it.
  ///
  /// Source: pam_systemd(8); XDG Base Directory Specification 0.8 (owned by the user, mode 0700).
  package static func loginFolder(in parent: FilePath = "/run/user") -> FilePath? {
    let folder = parent.appending(String(geteuid()))
    var found = stat()
    guard folder.withPlatformString({ lstat($0, &found) }) == 0, found.st_mode & S_IFMT == S_IFDIR, found.st_uid == geteuid(),
      found.st_mode & 0o077 == 0
    else { return nil }
    return folder
  }

  private static func userFolder(_ variable: (String) throws(StoreError) -> String?) throws(StoreError) -> FilePath {
    if let home = folder(try variable("HOME")) { return home }
    if let record = getpwuid(geteuid()), let path = record.pointee.pw_dir, let home = folder(String(validatingCString: path)) {
      return home
    }
    throw StoreError(
      .denied, "this user has no home folder", cure: "set HOME, or set COFFER_HOME to a folder for Coffer's files")
  }
}
