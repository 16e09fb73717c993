internal import CofferPlatform
internal import CofferStorage
internal import SystemPackage

/// Where a vault is or is to be: a folder and a name in it.
struct VaultPlace {
  private let folder: FilePath
  private let name: String

  /// - Throws: ``/CofferPlatform/StoreError/Kind/denied`` for a path that cannot name a file, or not one that SQLite can be given.
  init(_ path: FilePath) throws(StoreError) {
    guard let name = path.lastName, ![".", ".."].contains(name), path == FilePath(path.string) else {
      throw StoreError(
        .denied, "the path names no file, or not in UTF-8", place: path.string, cure: "give the path of a file")
    }
    folder = path.parent
    self.name = name
  }

  /// The resolved path, once the folder and its parents are found safe; nil when there is no folder.
  func existing() throws(StoreError) -> FilePath? { try TrustedPath.privateFolder(folder)?.appending(name) }

  /// The resolved path, in a folder that is made with mode 0700 where it is missing.
  func made() throws(StoreError) -> FilePath { try TrustedPath.makePrivateFolder(folder).appending(name) }
}
