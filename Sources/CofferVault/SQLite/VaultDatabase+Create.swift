internal import CofferPlatform
internal import CofferStorage
internal import SystemPackage

extension VaultDatabase {
  /// Creates a vault file at `path`, whose first rows `fill` writes in the transaction that makes the tables.
  ///
  /// The file appears under its name once it is complete and durable; when this throws, nothing is left behind, but for what
  /// ``OpenFolder/synchronize()`` throws.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.alreadyExists`, `.denied`, `.noSpace`, `.readOnly`, `.io`, and what `fill` throws.
  static func create(
    at path: FilePath, _ options: Connection.Options = .init(), fill: (VaultDatabase) throws(StoreError) -> Void
  ) throws(StoreError) -> sending VaultDatabase {
    let made = try NewDatabase(at: path).make(options) { connection throws(StoreError) in
      // The builder of the system's SQLite may have chosen other defaults than those that the format says.
      for pragma in ["page_size=4096", "auto_vacuum=NONE", "encoding='UTF-8'"] { try connection.execute("PRAGMA \(pragma)") }
      // A draft whose commit failed is thrown away, whatever became of it.
      try connection.write {
        () throws(StoreError) in
        try Schema.create(on: connection)
        try fill(VaultDatabase(creatingOn: connection))
      } wasMade: { () throws(StoreError) in
        false
      }
    }
    do throws(StoreError) { return try open(made, options) } catch {
      remove(made)
      throw error
    }
  }

  /// Removes the vault that was made at `path` just now and that nobody knows of yet, once it is closed. Where it cannot be removed it
  /// stays, whole.
  static func remove(_ path: FilePath) {
    // The vault first: what is left beside it without it would be taken for a part of the next one.
    guard path.withPlatformString({ unlink($0) }) == 0 else { return }
    for suffix in SideFiles.suffixes { _ = path.appending(suffix: suffix).withPlatformString { unlink($0) } }
  }
}
