package import CofferPlatform
package import CofferStorage
package import SystemPackage

/// The rows of one vault, wherever they lie: in an SQLite file, or on a server. Whoever implements this knows no key: what the
/// rows say is sealed. It checks type and length of each column, and nothing of its meaning.
///
/// Used from one thread at a time. All that reads or writes rows stands in a ``read(_:)`` or ``write(_:)``, which call the five
/// that begin and end a transaction. Bytes are lent for the length of a call. Indices and ids of records have 16 bytes, digests
/// 32.
package protocol VaultRows: AnyObject {
  /// Where the rows are, under the one name that it has whatever name led there.
  var place: VaultPlace { get }
  /// Whether it is a file that cannot be written, and so perhaps a copy that somebody looks at.
  var isUnwritableFile: Bool { get }
  /// Whether what was deleted or overwritten can be made to leave the place, by ``removeOldBytes(rewriting:)``.
  var canRemoveOldBytes: Bool { get }
  /// Whether each question takes a round trip, so that it is worth while to say ahead what is asked for.
  var isRemote: Bool { get }
  /// Whether the last write threw `.outcomeUnknown` because nobody answered its commit: the rows tell what became of it once they
  /// are written to again. See ``LostCommit``.
  var hasLostCommit: Bool { get }

  // MARK: Transactions

  /// Begins to read one state of the rows, whatever others commit meanwhile.
  func beginReading() throws(StoreError)
  func endReading() throws(StoreError)
  /// Begins to write, as the only writer.
  func beginWriting() throws(StoreError)
  /// Has the next write make the writes of another store in the same database too; nil takes that back. Only rows on a server share
  /// a transaction.
  func accompany(with companion: (any CompanionWrites)?)
  /// Brings what the write has changed so far to where it would lie, so that what its commit would lack is missed now.
  func flush() throws(StoreError)
  /// Makes all changes of the write durable.
  ///
  /// - Throws: `.outcomeUnknown` where nobody can tell from the rows alone what became of it; with any other error none of them
  ///   was made.
  func commit() throws(StoreError)
  /// Ends a transaction that failed: nothing of it is made, and nothing of it comes back later.
  func rollBack()
  /// Ends it. Every later call throws ``/CofferPlatform/StoreError/Kind/closed``.
  func close()
  /// Ends it, and removes the place, which was made just now and nobody knows of yet. Where it cannot be removed it stays, whole.
  func discard()

  // MARK: What others did

  /// Within a transaction: changes whenever somebody else has committed since, and never through commits made here.
  func dataVersion() throws(StoreError) -> Int64
  /// Within a transaction, where ``dataVersion()`` changed: checks the tables again, if they may be others now.
  func recheckSchema() throws(StoreError)
  /// Whether the place still leads to these rows.
  func isInPlace() throws(StoreError) -> Bool
  /// Says which rows are asked for next, one by one, so that a server can be asked for them at once.
  func expect(_ rows: ExpectedRows) throws(StoreError)

  // MARK: Header, state and digests

  func lendHeader(_ copy: HeaderCopy, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void) throws(StoreError)
  func putHeader(_ copy: HeaderCopy, _ bytes: UnsafeRawBufferPointer) throws(StoreError)
  func lendState(_ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void) throws(StoreError)
  func putState(_ bytes: UnsafeRawBufferPointer) throws(StoreError)
  /// Lends each digest with its bucket, ascending: of all buckets, or of those that are named in that order.
  func forEachDigest(
    in buckets: [Int]?, _ body: (_ bucket: Int, _ hash: UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError)
  func putDigest(_ hash: UnsafeRawBufferPointer, bucket: Int) throws(StoreError)
  func deleteDigest(bucket: Int) throws(StoreError)

  // MARK: Records

  /// Lends the record at `index`, where there is one.
  func lendRecord(
    at index: UnsafeRawBufferPointer, in table: RecordTable, _ part: RecordPart,
    _ body: (borrowing RecordColumns) throws(StoreError) -> Void
  ) throws(StoreError)
  /// Lends every record with its index, ascending.
  func forEachRecord(
    in table: RecordTable, _ body: (_ index: UnsafeRawBufferPointer, borrowing RecordColumns) throws(StoreError) -> Void
  ) throws(StoreError)
  /// Lends index and id of each record of `bucket`, ascending. Together the buckets' scans see every row, also one whose index is
  /// none.
  func forEachIndex(
    inBucket bucket: Int, _ body: (_ index: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError)
  /// Stores a record.
  func putRecord(
    at index: UnsafeRawBufferPointer, in table: RecordTable, _ record: borrowing RecordColumns, over standing: RecordPlace
  ) throws(StoreError)
  func deleteRecord(at index: UnsafeRawBufferPointer, in table: RecordTable) throws(StoreError)

  /// The log.
  var logRows: any LogRows { get }
  /// Outcomes of transactions over two stores.
  var outcomeRows: any OutcomeRows { get }

  // MARK: The place as a whole

  /// Calls `body` with each id that a table of one row has.
  func forEachID(in table: SingleTable, _ body: (Int64) throws(StoreError) -> Void) throws(StoreError)
  /// Removes the rows that no vault has: of the tables of one row, of the log, and those of outcomes that `isForged` names.
  func removeAddedRows(keepingLogRows kept: ClosedRange<Int64>, times: ClosedRange<Int64>, mostDropped: Int64) throws(StoreError)
  /// Looks at what the rows lie in, as far as that can be done: `what` is said to be damaged.
  func checkStorage(_ what: String) throws(StoreError)
  /// Runs `body`, which touches rows as `work` says, with room for that.
  func during(_ work: RowsWork, _ body: () throws(StoreError) -> Void) throws(StoreError)
  /// Writes a copy of this moment's rows to a new vault file, and checks it by opening it.
  ///
  /// - Parameter progress: called now and then with how much is copied, and of how much.
  func backUp(to file: FilePath, progress: (Int, Int) -> Void) throws(StoreError)
  /// Keeps a copy of the rows as they are beside them, whatever they say, and tells where.
  func keepCopy() throws(StoreError) -> VaultPlace
  /// How many bytes the place has.
  func storedBytes() throws(StoreError) -> Int64
  /// Removes what deleted rows left, outside any transaction.
  ///
  /// - Parameter rewriting: whether all is rewritten for that.
  func removeOldBytes(rewriting: Bool) throws(StoreError)
}

/// The rows of a vault's log. Their numbers are 0 or more, unless somebody forged one.
package protocol LogRows {
  /// Lends the rows from `first` on, ascending; `most` of them at most.
  func forEachLogRow(
    from first: Int64, most: Int?, _ body: (_ seq: Int64, _ box: UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError)
  func lendLogRow(_ seq: Int64, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void) throws(StoreError)
  /// The number of the first row; nil where there is none.
  func firstLogRow() throws(StoreError) -> Int64?
  /// Adds a row, of whose number there must be none.
  func appendLogRow(_ seq: Int64, _ box: UnsafeRawBufferPointer) throws(StoreError)
  /// Stores a row in place of what is there.
  func putLogRow(_ seq: Int64, _ box: UnsafeRawBufferPointer) throws(StoreError)
  /// Removes the rows whose numbers are not in `kept`.
  func keepLogRows(_ kept: ClosedRange<Int64>) throws(StoreError)
}

/// What a vault has recorded of transactions over two stores.
package protocol OutcomeRows {
  /// What is recorded of the transaction of these 16 bytes.
  func outcome(of transaction: UnsafeRawBufferPointer) throws(StoreError) -> OutcomeColumns?
  func putOutcome(_ outcome: OutcomeColumns, of transaction: UnsafeRawBufferPointer) throws(StoreError)
  func deleteOutcome(of transaction: UnsafeRawBufferPointer) throws(StoreError)
  /// Lends each outcome with its transaction, in no order.
  func forEachOutcome(_ body: (UnsafeRawBufferPointer, OutcomeColumns) throws(StoreError) -> Void) throws(StoreError)
  /// How many outcomes are of that number.
  func countOutcomes(_ outcome: Int64) throws(StoreError) -> Int64
  /// Removes those of that number from before `time`, and gives those from after `limit` that time.
  func expireOutcomes(_ outcome: Int64, before time: Int64, after limit: Int64) throws(StoreError)
}

/// Which of the two equal copies of the header.
package enum HeaderCopy: Sendable {
  /// Row 1 of `header`.
  case first
  /// Row 2 of `header_copy`, for when the first is damaged.
  case second
}

/// Which columns of a record are read. A value that is not asked for costs nothing.
package enum RecordPart: Sendable {
  case metadata, all
}

/// The tables that have one row, of one id.
package enum SingleTable: String, CaseIterable, Sendable {
  case header
  case headerCopy = "header_copy"
  case state

  /// The id of the row.
  package var id: Int64 { self == .headerCopy ? 2 : 1 }
}

/// A record as it lies in its place, lent for the length of a call.
package struct RecordColumns: ~Copyable {
  /// 16 bytes.
  package let rid: UnsafeRawBufferPointer
  /// The sealed metadata with its tag.
  package let meta: UnsafeRawBufferPointer
  /// The sealed value with its tag; nil when the record has none, or when it was not asked for.
  package let value: UnsafeRawBufferPointer?

  package init(rid: UnsafeRawBufferPointer, meta: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?) {
    self.rid = rid
    self.meta = meta
    self.value = value
  }
}

/// What stands where a record is stored.
package enum RecordPlace {
  /// Nothing, as far as is known.
  case free
  /// The record that it takes the place of, of which there must be one.
  case taken
  /// Nothing: it takes the place of the one at another index, of which there must be one.
  case moved(from: UnsafeRawBufferPointer)
}

/// What is recorded of a transaction over two stores: a number, and milliseconds since 1970.
package struct OutcomeColumns: Sendable {
  package let outcome: Int64, time: Int64

  package init(outcome: Int64, time: Int64) {
    self.outcome = outcome
    self.time = time
  }
}

/// Rows that are about to be asked for.
package enum ExpectedRows: Sendable {
  /// The lists of all buckets of a table, with so many entries at most.
  case lists(RecordTable, most: Int)
  /// The records of a table, ascending by index.
  case records(RecordTable, RecordPart)
  /// In the next transaction, the present record at an index, and perhaps the list of its bucket; where somebody else has
  /// committed since, the rows of the log from a number on, so many at most. To be said before the transaction.
  case item([UInt8], list: Bool, log: (first: UInt64, most: Int))
  /// No more than what is asked for.
  case single
}

/// How a body touches rows.
package enum RowsWork: Sendable {
  /// It writes nearly all of them, in random order.
  case rewriting
  /// It reads many of them in order, and each of them once.
  case scanning
}

/// What a vault's rows may be, at most.
package enum RowLimits {
  /// Bytes in one row, and in one column of it. The longest row is a record with a value of 2 MiB, padded by an eighth at most,
  /// and a description of 64 KiB.
  package static let rowBytes = 4 * 1024 * 1024
  /// Bytes of an index and of a revision's id.
  package static let indexBytes = 16
  /// A sealed text is a tag at least, and a row at most.
  package static let sealedBytes = 16...rowBytes
  package static let digestBytes = 32
  /// Bytes in a header.
  package static var headerBytes: ClosedRange<Int> { 1...VaultHeader.largest }
  /// Bytes in a state.
  package static var stateBytes: ClosedRange<Int> { 1...VaultState.largest }
  package static let transactionBytes = 16
  package static var buckets: Int { DigestTree.buckets }
  /// Numbers of rows of the log.
  package static let logRows: ClosedRange<Int64> = 0...Int64(FileCounter.most)
}
