package import CofferPlatform
package import SystemPackage

/// A backup or an export in progress. Nobody can open it until it is complete and gets its name.
///
/// SQLite works in private folders only: elsewhere, others could plant a journal that it would trust. So the copy is made in
/// a new folder beside its target, not beside the vault, whose disk may be full or read only. If others could swap that
/// folder, as in a group-writable one, the copy is made beside the vault and its bytes are copied.
package struct NewCopy: ~Copyable {
  let path: FilePath
  private let target: FilePath
  private let draft: Draft
  private let isBesideTarget: Bool

  private init(_ path: FilePath, _ target: FilePath, _ draft: consuming Draft, isBesideTarget: Bool) {
    self.path = path
    self.target = target
    self.draft = draft
    self.isBesideTarget = isBesideTarget
  }

  /// - Parameters:
  ///   - target: must not exist.
  ///   - vault: the file of the copied vault; nil for one on a server.
  package static func begin(for target: FilePath, of vault: FilePath?) throws(StoreError) -> NewCopy {
    guard try Stat.ofLink(target) == nil else {
      throw StoreError(
        .alreadyExists, "something is already there", place: target.string, cure: "choose another path; nothing is replaced")
    }
    // Beside a database SQLite takes such a file for a part of it, and deletes it or refuses the database.
    guard !["-journal", "-wal", "-shm"].contains(where: target.string.hasSuffix) else {
      throw StoreError(
        .invalidName, "the name is that of a database's own file", place: target.string,
        cure: "choose another name; nothing was written")
    }
    let draft = try Draft(beside: target)
    let folder = try privateFolder(draft.path)
    guard let folder else {
      guard let vault else {
        throw StoreError(
          .denied, "other users could replace files in that folder", place: target.string,
          cure: "give the path of a file in a folder that only you can write to")
      }
      return try beside(vault, target)
    }
    return NewCopy(folder.appending(Draft.nameInFolder), target, draft, isBesideTarget: true)
  }

  private static func beside(_ vault: FilePath, _ target: FilePath) throws(StoreError) -> NewCopy {
    let draft = try Draft(beside: vault)
    let path = draft.path
    return NewCopy(path, target, draft, isBesideTarget: false)
  }

  /// Nil if others could swap the folder.
  private static func privateFolder(_ path: FilePath) throws(StoreError) -> FilePath? {
    do throws(StoreError) { return try TrustedPath.makePrivateFolder(path) } catch {
      guard error.kind == .denied else { throw error }
      return nil
    }
  }

  /// Reports errors of `body` under the target's name.
  package borrowing func making<Result: ~Copyable>(_ body: (FilePath) throws(StoreError) -> Result) throws(StoreError) -> Result {
    do throws(StoreError) { return try body(path) } catch { throw error.naming(target, insteadOf: path.folder, isBesideTarget) }
  }

  /// Gives the closed copy its name. Except after an error of ``OpenFolder/synchronize()``, a failure leaves nothing behind.
  package consuming func publish() throws(StoreError) {
    guard isBesideTarget else { return try PrivateCopy.publish(path, as: target) }
    try PrivateCopy.name(path, as: target)
  }
}

extension StoreError {
  fileprivate func naming(_ target: FilePath, insteadOf folder: FilePath, _ isBesideTarget: Bool) -> StoreError {
    guard isBesideTarget, let place, place.hasPrefix(folder.string) else { return self }
    return StoreError(kind, what, key: key, place: target.string, cure: cure, underlying: underlying, remedy: remedy)
  }
}
