package import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
package import SystemPackage

/// A vault that is made to be put elsewhere, as a backup or an export: written where it cannot be met before it is whole, and
/// given its name then.
///
/// SQLite works in private folders only: beside a file anywhere else, others could put a journal that it would believe. So the
/// copy is made in a folder of its own beside its target, where the room for it has to be anyway, and nothing is written beside
/// the vault, whose disk may be full or read only. Where others could exchange that folder, as in one that a group writes to, the
/// copy is made beside the vault, and its bytes are copied.
package struct NewCopy: ~Copyable {
  /// Where the vault is to be made.
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

  /// A place for the new file `target`, which must not exist.
  ///
  /// - Parameter vault: the file of the copied vault; nil for one on a server.
  /// - Throws: ``/CofferPlatform/StoreError`` `.alreadyExists`, `.denied`, `.readOnly`, `.noSpace`, `.io`.
  package static func begin(for target: FilePath, of vault: FilePath?) throws(StoreError) -> NewCopy {
    guard try Stat.ofLink(target) == nil else {
      throw StoreError(
        .alreadyExists, "something stands there already", place: target.string, cure: "choose another path; nothing is replaced")
    }
    let draft = try Draft(beside: target)
    let folder = try privateFolder(draft.path)
    guard let folder else {
      guard let vault else {
        throw StoreError(
          .denied, "others could exchange what is made in that folder", place: target.string,
          cure: "give the path of a file in a folder that you alone can write")
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

  /// A folder made at `path` in which SQLite may work; nil where others could exchange it.
  private static func privateFolder(_ path: FilePath) throws(StoreError) -> FilePath? {
    do throws(StoreError) { return try TrustedPath.makePrivateFolder(path) } catch {
      guard error.kind == .denied else { throw error }
      return nil
    }
  }

  /// Runs `body`, whose errors about the copy are said of its target.
  package borrowing func making<Result: ~Copyable>(_ body: (FilePath) throws(StoreError) -> Result) throws(StoreError) -> Result {
    do throws(StoreError) { return try body(path) } catch { throw error.naming(target, insteadOf: path.folder, isBesideTarget) }
  }

  /// Gives the copy its name, durably. It must be closed.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.alreadyExists`, `.denied`, `.noSpace`, `.readOnly`, `.io`; nothing is left behind
  ///   then, but for what ``OpenFolder/synchronize()`` throws.
  package consuming func publish() throws(StoreError) {
    guard isBesideTarget else { return try PrivateCopy.publish(path, as: target) }
    try PrivateCopy.name(path, as: target)
  }
}

extension StoreError {
  /// The same error of a draft in `folder`, said of the file that it was to become.
  fileprivate func naming(_ target: FilePath, insteadOf folder: FilePath, _ isBesideTarget: Bool) -> StoreError {
    guard isBesideTarget, let place, place.hasPrefix(folder.string) else { return self }
    return StoreError(kind, what, key: key, place: target.string, cure: cure, underlying: underlying, remedy: remedy)
  }
}
