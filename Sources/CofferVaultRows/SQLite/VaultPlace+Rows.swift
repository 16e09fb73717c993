package import CofferPlatform
package import SystemPackage

extension VaultPlace {
  /// - Parameter patience: milliseconds to wait for another writer; nil for the place's default.
  package func rows(patience: Int32? = nil) throws(StoreError) -> sending any VaultRows {
    try checkIsNoMirror()
    switch kind {
    case .file(let path), .mirror(let path):
      var options = Connection.Options()
      if let patience { options.busyMilliseconds = patience }
      return try VaultDatabase.open(path, options)
    case .server(let place): return try place.server().open(place.url, patience: patience)
    }
  }

  /// See ``VaultDatabase/openToRead(_:isBrief:)``.
  ///
  /// - Parameter patience: milliseconds to wait for a server; nil for the place's default.
  package func rowsToRead(isBrief: Bool = true, patience: Int32? = nil) throws(StoreError) -> sending any VaultRows {
    switch kind {
    case .mirror(let path): return try Self.openMirror(path)
    case .file(let path): return try VaultDatabase.openToRead(path, isBrief: isBrief)
    case .server(let place): return try place.server().open(place.url, patience: patience)
    }
  }

  /// - Parameter roles: those that a server lets in.
  package func makeRows(
    granting roles: [ServerRole], _ fill: (any VaultRows) throws(StoreError) -> Void
  ) throws(StoreError) -> sending any VaultRows {
    try checkIsNoMirror()
    switch kind {
    case .file(let path), .mirror(let path):
      return try VaultDatabase.create(at: path) { (rows) throws(StoreError) in try fill(rows) }
    case .server(let place): return try place.server().create(place.url, granting: roles, fill: fill)
    }
  }
}

extension VaultPlace {
  /// A refresh takes longer than opening, so refreshes cannot interfere repeatedly.
  private static let triesOfMirror = 10

  /// The connection keeps its file even if a refresh replaces it.
  package static func openMirror(_ path: FilePath) throws(StoreError) -> sending VaultDatabase {
    // Before the folders above it are checked: they are not the reason.
    guard try FileStatus(at: path)?.isFolder != true else {
      throw StoreError(.denied, "there is a folder instead of a file", place: path.string, cure: "choose another path")
    }
    var options = Connection.Options(access: .readOnly)
    options.isMirror = true
    for _ in 1..<triesOfMirror {
      // A refresh came in between.
      do throws(StoreError) { return try VaultDatabase.open(path, options) } catch  where error.kind == .busy { continue } catch {
        guard error.kind == .noVault else { throw error }
        throw missingMirror(path)
      }
    }
    return try VaultDatabase.open(path, options)
  }

  private static func missingMirror(_ path: FilePath) -> StoreError {
    StoreError(
      .noVault, "there is no mirror", place: path.string,
      cure: "make one with UnlockedVault.mirror(to:), or give the path of another",
      remedy: .makeMirror)
  }
}
