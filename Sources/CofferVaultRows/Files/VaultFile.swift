package import CofferPlatform
internal import FoundationEssentials
package import SystemPackage

package struct VaultFile {
  private let folder: FilePath
  private let name: String

  /// - Throws: ``/CofferPlatform/StoreError/Kind/denied`` for a path that SQLite cannot open.
  package init(_ path: FilePath) throws(StoreError) {
    guard let name = path.lastName, ![".", ".."].contains(name), path == FilePath(path.string) else {
      throw StoreError(
        .denied, "the path names no file, or not in UTF-8", place: path.string, cure: "give the path of a file")
    }
    folder = path.parent
    self.name = name
  }

  /// The resolved path in a safe folder. Nil if there is no folder, or an unsafe one without the file: after a typo, nobody
  /// should be told to close an unrelated folder.
  func existing() throws(StoreError) -> FilePath? {
    do throws(StoreError) { return try TrustedPath.privateFolder(TrustedPath.throughOwnLink(folder))?.appending(name) } catch {
      let file = folder.appending(name)
      let found = Result { () throws(StoreError) in try Stat.ofLink(file) }
      guard error.kind == .denied, case .success(nil) = found else { throw error }
      return nil
    }
  }

  /// The resolved path without a check of the folder; nil if there is no folder.
  func found() throws(StoreError) -> FilePath? {
    guard try Stat.ofLink(folder.isEmpty ? "." : folder) != nil else { return nil }
    return try TrustedPath.resolve(folder.isEmpty ? "." : folder).appending(name)
  }

  /// The resolved path. Creates a missing folder with mode 0700.
  package func made() throws(StoreError) -> FilePath {
    try TrustedPath.makePrivateFolder(TrustedPath.throughOwnLink(folder)).appending(name)
  }
}

/// The name of a vault moved aside before a risky command.
package enum KeptName {
  /// A name such as `vault.sqlite.before-20261121T080000Z`.
  package static func beside(_ vault: FilePath) throws(StoreError) -> FilePath {
    let stamp = Date().formatted(.iso8601.dateSeparator(.omitted).timeSeparator(.omitted))
    let name = vault.appending(suffix: ".before-\(stamp)")
    guard try Stat.ofLink(name) != nil else { return name }
    return name.appending(suffix: "-\(String(UInt32.random(in: .min ... .max), radix: 36))")
  }
}
