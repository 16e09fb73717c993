package import SystemPackage

/// Checks, before a store opens anything, whether another user could read, replace or redirect its files.
///
/// The rule for folders is that of sshd's `StrictModes`: the file's folder and all of its parents belong to this user or to
/// root, and neither group nor others can write to them. A sticky folder of root, such as `/tmp`, is accepted as a parent:
/// only the owner can rename a file in it. So is one whose group is this user's private one, which has no other member.
///
/// Symbolic links among the parents are resolved first, and only the resolved chain is checked and used: a link's owner
/// could only have led to another folder that passes. The last component is never followed.
///
/// Nothing here changes a mode or an owner. Errors name the command that corrects them.
package enum TrustedPath {
  static let groupAndOthers: CInterop.Mode = 0o077
  private static let groupAndOthersWrite: CInterop.Mode = 0o022
  private static let othersWrite: CInterop.Mode = 0o002
  private static let sticky: CInterop.Mode = 0o1000

  /// The resolved path of a private folder; nil if there is none.
  ///
  /// - Throws: ``StoreError/Kind/denied`` for a link, a folder that others own or can enter, or an untrusted parent.
  package static func privateFolder(_ folder: FilePath) throws(StoreError) -> FilePath? {
    let folder = folder.isEmpty ? "." : folder
    guard let found = try Stat.ofLink(folder) else { return nil }
    guard found.type != .symbolicLink else {
      throw denied("the folder is a symbolic link", folder, "give the path of the folder that it points to")
    }
    guard found.type == .directory else {
      throw denied("there is a \(found.type.word) instead of a folder", folder, "choose another path")
    }
    let resolved = try resolve(folder)
    try checkOwner(found, resolved, "folder")
    guard found.mode.rawValue & groupAndOthers == 0 else {
      throw denied(
        "mode \(octal(found)) gives other users access to the folder", resolved,
        found.mode.rawValue & sticky != 0 || isOfTheSystem(resolved)
          ? "choose a path in a folder of your own" : "run chmod 700 \(resolved.quoted)")
    }
    try checkParents(of: resolved)
    return resolved
  }

  /// Whether all users' programs may need the content of `resolved`: closing it to others would stop the machine.
  private static func isOfTheSystem(_ resolved: FilePath) -> Bool {
    let trees = ["/boot", "/dev", "/etc", "/opt", "/proc", "/run", "/srv", "/sys", "/usr", "/var", "/System", "/Library"]
    return geteuid() == 0 && (resolved.components.count <= 1 || trees.contains { resolved.starts(with: FilePath($0)) })
  }

  /// The target of `folder` if it is this user's symbolic link in a folder that nobody else can write to, for settings kept
  /// elsewhere; any other `folder` unchanged.
  ///
  /// - Throws: ``StoreError/Kind/denied`` if others could redirect the link, `.io` for a dangling link.
  package static func throughOwnLink(_ folder: FilePath) throws(StoreError) -> FilePath {
    guard !folder.isEmpty, let found = try Stat.ofLink(folder), found.type == .symbolicLink, found.userID.rawValue == geteuid(),
      let name = folder.lastComponent
    else { return folder }
    let parent = folder.parent.isEmpty ? "." : folder.parent
    try checkParents(of: resolve(parent).appending(name))
    return try resolve(folder)
  }

  /// The status of `file` in a checked folder; nil if nothing is there.
  ///
  /// - Throws: ``StoreError/Kind/denied`` unless it is a regular file of this user, with one name, closed to everyone else.
  package static func privateFile(_ file: FilePath) throws(StoreError) -> Stat? {
    guard let found = try settled(file) else { return nil }
    return try checked(found, file)
  }

  /// The same for a file that others may remove at any time: nil if it lost its last name meanwhile.
  package static func privatePassingFile(_ file: FilePath) throws(StoreError) -> Stat? {
    guard let found = try settled(file), found.linkCount > 0 else { return nil }
    return try checked(found, file)
  }

  private static func checked(_ found: Stat, _ file: FilePath) throws(StoreError) -> Stat {
    guard found.type != .symbolicLink else {
      throw denied("the file is a symbolic link", file, "give the path of the file it points to")
    }
    guard found.type == .regular else {
      throw denied("there is a \(found.type.word) instead of a file", file, "choose another path")
    }
    try checkOwner(found, file, "file")
    guard found.mode.rawValue & groupAndOthers == 0 else {
      throw denied("mode \(octal(found)) gives other users access to the file", file, "run chmod 600 \(file.quoted)")
    }
    guard found.linkCount == 1 else {
      throw denied(
        "the file has \(found.linkCount) names, so it can be reached from outside its folder", file,
        "find them with find -samefile \(file.quoted) and remove the others")
    }
    return found
  }

  /// A file system in user space may report a removed second name for a second: it is asked again.
  private static func settled(_ file: FilePath) throws(StoreError) -> Stat? {
    guard let found = try Stat.ofLink(file) else { return nil }
    guard found.linkCount > 1 else { return found }
    _ = file.withPlatformString { coffer_refresh_attributes($0) }
    return try Stat.ofLink(file)
  }

  /// The resolved path of a file that anyone may read and that only this user and root can change.
  ///
  /// - Throws: ``StoreError/Kind/denied``, also for an untrusted parent, and `.io`.
  package static func publicFile(_ file: FilePath) throws(StoreError) -> FilePath {
    let resolved = try resolve(file)
    try checkParents(of: resolved)
    guard let found = try Stat.ofLink(resolved), found.type == .regular else {
      throw denied("it is not a regular file", resolved, "give a file")
    }
    let owner = found.userID.rawValue
    guard owner == 0 || owner == geteuid(), found.mode.rawValue & groupAndOthersWrite == 0 else {
      throw denied(
        "user \(owner) owns the file, with mode \(octal(found)): another user can change it", resolved,
        "run chmod go-w \(resolved.quoted), and let it belong to root or to user \(geteuid())")
    }
    return resolved
  }

  package static func absolute(_ path: FilePath) throws(StoreError) -> FilePath {
    guard path.isRelative else { return path }
    guard let current = getcwd(nil, 0) else { throw StoreError(errno: errno, "find the current folder", place: path) }
    defer { free(current) }
    return FilePath(platformString: current).pushing(path).lexicallyNormalized()
  }

  package static func resolve(_ path: FilePath) throws(StoreError) -> FilePath {
    let resolved = path.withPlatformString { realpath($0, nil) }
    guard let resolved else { throw StoreError(errno: errno, "resolve the path", place: path) }
    defer { free(resolved) }
    return FilePath(platformString: resolved)
  }

  /// Checks every folder above `resolved`, which has no symbolic links.
  package static func checkParents(of resolved: FilePath) throws(StoreError) {
    var folder = resolved
    while case let parent = folder.parent, parent != folder {
      try checkParent(parent)
      folder = parent
    }
  }

  static func checkParent(_ folder: FilePath) throws(StoreError) {
    guard let found = try Stat.ofLink(folder), found.type == .directory else {
      throw denied("a parent folder changed while it was checked", folder, "try again")
    }
    let owner = found.userID.rawValue
    guard owner == 0 || owner == geteuid() else {
      throw denied(
        "a parent folder belongs to user \(owner), who can replace its contents", folder,
        "choose a path whose parents belong to you or to root")
    }
    guard found.mode.rawValue & groupAndOthersWrite != 0 else { return }
    let isForOwnGroup = owner == geteuid() && found.mode.rawValue & othersWrite == 0
    if isForOwnGroup, folder.withPlatformString({ coffer_has_private_group($0, found.groupID.rawValue) }) { return }
    guard owner == 0, found.mode.rawValue & sticky != 0 else {
      throw denied(
        "mode \(octal(found)) lets other users write to a parent folder", folder,
        "run chmod go-w \(folder.quoted), or choose another path")
    }
  }

  /// Checks that the existing part of the way to `folder`, links followed, belongs to this user or root: files made by root,
  /// as under sudo with the user's `HOME`, would be lost to their owner. Opening reports unreadable parts.
  ///
  /// - Throws: ``StoreError/Kind/denied``.
  package static func checkOwner(ofWayTo folder: FilePath) throws(StoreError) {
    var facts = stat()
    var place = folder
    while place.withPlatformString({ stat($0, &facts) }) != 0 {
      guard case let parent = place.parent, parent != place, !parent.isEmpty else { return }
      place = parent
    }
    if facts.st_uid != geteuid(), facts.st_uid != 0 { throw foreign(facts.st_uid, place, "folder") }
  }

  private static func checkOwner(_ found: Stat, _ path: FilePath, _ kind: String) throws(StoreError) {
    let owner = found.userID.rawValue
    if owner != geteuid() { throw foreign(owner, path, kind) }
  }

  /// For root in a user's home, as under sudo, chown is no cure: it would take the file from its owner.
  private static func foreign(_ owner: uid_t, _ path: FilePath, _ kind: String) -> StoreError {
    denied(
      "the \(kind) belongs to user \(owner), not to user \(geteuid()) who runs this", path,
      geteuid() == 0
        ? "run it without sudo, as user \(owner), or choose a path of root's own"
        : "choose a path of your own, or run chown \(geteuid()) \(path.quoted) as root if it is yours")
  }

  private static func denied(_ what: String, _ path: FilePath, _ cure: String) -> StoreError {
    StoreError(.denied, what, place: path.string, cure: cure)
  }

  /// Permission bits as `chmod` takes them: `0644`.
  private static func octal(_ found: Stat) -> String { "0" + String(found.mode.rawValue & 0o7777, radix: 8) }
}
