package import SystemPackage

extension TrustedPath {
  /// The resolved path of a private folder. Missing folders are made with mode 0700; existing ones are checked and left as
  /// they are.
  ///
  /// - Throws: ``StoreError`` `.denied` as ``privateFolder(_:)`` does, `.readOnly`, `.noSpace`, `.io`.
  package static func makePrivateFolder(_ folder: FilePath) throws(StoreError) -> FilePath {
    if let there = try privateFolder(folder) { return there }
    let made = try make(folder)
    guard let checked = try privateFolder(made) else {
      throw StoreError(.busy, "the folder was removed while it was created", place: made.string, cure: "try again")
    }
    return checked
  }

  /// Makes `folder` in its trusted, resolved parent. Another process may make it at the same time.
  private static func make(_ folder: FilePath) throws(StoreError) -> FilePath {
    guard let name = folder.lastName else {
      throw StoreError(.denied, "there is no such folder", place: folder.string, cure: "choose another path")
    }
    let made = try trustedParent(folder.parent).appending(name)
    let code = made.withPlatformString { mkdir($0, 0o700) == 0 ? 0 : errno }
    guard code == 0 || code == EEXIST else { throw StoreError(errno: code, "make the folder", place: made) }
    if code == 0 { try synchronize(made.parent) }
    return made
  }

  /// The resolved path of a possible parent of private folders, made if missing.
  private static func trustedParent(_ folder: FilePath) throws(StoreError) -> FilePath {
    let folder = folder.isEmpty ? "." : folder
    if try Stat.ofLink(folder) == nil { return try make(folder) }
    let resolved = try resolve(folder)
    try checkParent(resolved)
    try checkParents(of: resolved)
    return resolved
  }

  /// Makes the names in `folder` durable: new or renamed files survive a power loss only after this.
  package static func synchronize(_ folder: FilePath) throws(StoreError) {
    let descriptor = folder.withPlatformString { coffer_open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0) }
    guard descriptor >= 0 else { throw StoreError(errno: errno, "open the folder", place: folder) }
    defer { close(descriptor) }
    // Some file systems cannot synchronize a folder: their names are as durable as they will get.
    guard fsync(descriptor) == 0 || errno == EINVAL else {
      throw StoreError(errno: errno, "synchronize the folder", place: folder)
    }
  }
}
