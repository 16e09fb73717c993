internal import CofferPlatform
internal import CofferStorage
internal import SystemPackage

extension VaultDatabase {
  /// Creates a vault file at `path`, whose first rows `fill` writes in the transaction that makes the tables.
  ///
  /// The file appears under its name once it is complete and durable; when this throws, nothing is left behind.
  ///
  /// - Throws: ``StoreError`` `.alreadyExists`, `.denied`, `.noSpace`, `.readOnly`, `.io`, and what `fill` throws.
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
      // Nobody knows of it yet, and nobody could open it.
      _ = made.withPlatformString { unlink($0) }
      throw error
    }
  }
}
