internal import CofferPlatform
internal import CofferStorage
internal import SystemPackage

// What no look-up ever meets, and anyone who can write the file can put there.
extension VaultDatabase {
  /// Checks that the tables of one row have no other one, and that the log begins with a number that a row can have.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/tampered``.
  func checkNothingIsAdded() throws(StoreError) {
    for (table, query, id) in [("header", .headerRows, 1), ("header_copy", .headerCopyRows, 2), ("state", .stateRows, 1)]
      as [(String, Query, Int64)]
    {
      try statement(query).forEach { row throws(StoreError) in
        guard try row.int64(0) == id else { throw VerifiedView.tampered("the table \(table) has a row that no vault has", path) }
      }
    }
    do throws(StoreError) { _ = try log.first() } catch {
      guard error.kind == .damaged else { throw error }
      throw VerifiedView.tampered("the log has a row of a number that no row has", path)
    }
  }

  /// Refuses to write to a vault of a later format, within a transaction, for who has no key. A header that is damaged says nothing of its
  /// format.
  func checkWritable() throws(StoreError) {
    let header: VaultHeader
    do throws(StoreError) { header = try VerifiedView.readHeader(self).header } catch {
      guard error.kind == .damaged else { throw error }
      return
    }
    try header.checkWritable(path)
  }

  /// Removes the rows that ``checkNothingIsAdded()`` and ``OutcomeTable/check()`` find, within a transaction.
  func removeWhatIsAdded() throws(StoreError) {
    for sql in ["DELETE FROM header WHERE id<>1", "DELETE FROM header_copy WHERE id<>2", "DELETE FROM state WHERE id<>1"] {
      try connection.execute(sql)
    }
    try connection.execute("DELETE FROM log WHERE seq<0 OR seq>\(FileCounter.most)")
    try outcomes.removeForged()
  }

  /// Has SQLite look at every page: that each belongs to one table or to the list of free ones, and is as it should be.
  ///
  /// - Parameter what: what is damaged.
  /// - Throws: ``/CofferPlatform/StoreError/Kind/damaged``. What SQLite says of it is made of the file's own numbers, and is not repeated.
  func checkPages(
    _ what: String = "pages of the file are damaged that hold nothing of the vault's items now"
  ) throws(StoreError) {
    guard try connection.text("PRAGMA quick_check(1)") != "ok" else { return }
    throw StoreError(
      .damaged, what, place: path.string, cure: "copy the items to a new vault with UnlockedVault.export, or restore a backup",
      remedy: .copyItems)
  }
}
