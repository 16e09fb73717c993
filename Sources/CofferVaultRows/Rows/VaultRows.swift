package import CofferPlatform
package import CofferStorage
package import CofferVaultFormat
package import SystemPackage

/// The rows of one vault, in an SQLite file or on a server. A conformance has no key: it checks the type and length of each
/// column, not its meaning.
///
/// Used from one thread at a time, inside a ``read(_:)`` or ``write(_:)``. Bytes are lent for one call. Indices and ids of
/// records have 16 bytes, digests 32.
package protocol VaultRows: AnyObject {
  /// Under its canonical name.
  var place: VaultPlace { get }
  /// An unwritable file may be a copy under inspection.
  var isUnwritableFile: Bool { get }
  var canRemoveOldBytes: Bool { get }
  /// Each question costs a round trip, so ``expect(_:)`` pays.
  var isRemote: Bool { get }
  /// Whether the rows are a standby's, which may lag. Called after they were refused as too old.
  func isStandby() -> Bool
  /// The last commit got no answer. The next write finds the outcome in the rows: see ``LostCommit``.
  var hasLostCommit: Bool { get }

  // MARK: Transactions

  /// Begins to read one state of the rows. Later commits stay invisible.
  func beginReading() throws(StoreError)
  func endReading() throws(StoreError)
  /// Begins to write, as the only writer.
  func beginWriting() throws(StoreError)
  /// Adds the writes of another store in the same server database to the next write; nil cancels that.
  func accompany(with companion: (any CompanionWrites)?)
  /// Sends the changes to their place, so a lack of space fails now and not in the commit.
  func flush() throws(StoreError)
  /// Makes all changes of the write durable.
  ///
  /// - Throws: `.outcomeUnknown` if the rows alone cannot show the outcome; after any other error nothing has changed.
  func commit() throws(StoreError)
  /// Ends a failed transaction. None of its changes comes back later.
  func rollBack()
  /// Later calls throw ``/CofferPlatform/StoreError/Kind/closed``.
  func close()
  /// Removes a new place not yet in use. If it cannot be removed, it stays whole.
  func discard()

  // MARK: What others did

  /// Changes with each commit by others, never with commits made here. Within a transaction.
  func dataVersion() throws(StoreError) -> Int64
  /// Within a transaction, after ``dataVersion()`` changed.
  func recheckSchema() throws(StoreError)
  func isInPlace() throws(StoreError) -> Bool
  /// Announces reads, so a server can be asked for all at once.
  func expect(_ rows: ExpectedRows) throws(StoreError)

  // MARK: Header, state and digests

  func lendHeader(_ copy: HeaderCopy, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void) throws(StoreError)
  func putHeader(_ copy: HeaderCopy, _ bytes: UnsafeRawBufferPointer) throws(StoreError)
  func lendState(_ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void) throws(StoreError)
  func putState(_ bytes: UnsafeRawBufferPointer) throws(StoreError)
  /// Lends each digest with its bucket: of all buckets ascending, or of the named ones in that order.
  func forEachDigest(
    in buckets: [Int]?, _ body: (_ bucket: Int, _ hash: UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError)
  /// Buckets whose digests a reader with the keys computes and puts; none for a vault, which has all of them.
  var bucketsWithoutDigest: [Int] { get }
  func putDigest(_ hash: UnsafeRawBufferPointer, bucket: Int) throws(StoreError)
  func deleteDigest(bucket: Int) throws(StoreError)

  // MARK: Records

  func lendRecord(
    at index: UnsafeRawBufferPointer, in table: RecordTable, _ part: RecordPart,
    _ body: (borrowing RecordColumns) throws(StoreError) -> Void
  ) throws(StoreError)
  func forEachRecord(
    in table: RecordTable, _ body: (_ index: UnsafeRawBufferPointer, borrowing RecordColumns) throws(StoreError) -> Void
  ) throws(StoreError)
  /// Ascending. The scans of all buckets together cover every row, even one with an invalid index.
  func forEachIndex(
    inBucket bucket: Int, _ body: (_ index: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError)
  func putRecord(
    at index: UnsafeRawBufferPointer, in table: RecordTable, _ record: borrowing RecordColumns, over standing: RecordPlace
  ) throws(StoreError)
  func deleteRecord(at index: UnsafeRawBufferPointer, in table: RecordTable) throws(StoreError)

  var logRows: any LogRows { get }
  var outcomeRows: any OutcomeRows { get }
  /// Nil where writers only take turns: in a file.
  var intents: (any IntentRows)? { get }

  // MARK: The place as a whole

  func forEachID(in table: SingleTable, _ body: (Int64) throws(StoreError) -> Void) throws(StoreError)
  /// Removes extra rows in the single-row tables, log rows outside `kept`, and outcomes outside the given bounds.
  func removeAddedRows(keepingLogRows kept: ClosedRange<Int64>, times: ClosedRange<Int64>, mostDropped: Int64) throws(StoreError)
  /// Checks the storage beneath the rows, and reports `what` as damaged.
  func checkStorage(_ what: String) throws(StoreError)
  func during(_ work: RowsWork, _ body: () throws(StoreError) -> Void) throws(StoreError)
  /// Checks the copy by opening it.
  ///
  /// - Parameter progress: receives the amount copied and the total.
  func backUp(to file: FilePath, progress: (Int, Int) -> Void) throws(StoreError)
  /// An unchecked copy, beside the rows.
  func keepCopy() throws(StoreError) -> VaultPlace
  func storedBytes() throws(StoreError) -> Int64
  /// Called outside any transaction.
  ///
  /// - Parameter rewriting: whether to rewrite everything.
  func removeOldBytes(rewriting: Bool) throws(StoreError)
}

/// The rows of a vault's log. Their numbers are 0 or more, unless forged.
package protocol LogRows {
  /// Lends at most `most` rows, ascending.
  func forEachLogRow(
    from first: Int64, most: Int?, _ body: (_ seq: Int64, _ box: UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError)
  func lendLogRow(_ seq: Int64, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void) throws(StoreError)
  func firstLogRow() throws(StoreError) -> Int64?
  func appendLogRow(_ seq: Int64, _ box: UnsafeRawBufferPointer) throws(StoreError)
  func putLogRow(_ seq: Int64, _ box: UnsafeRawBufferPointer) throws(StoreError)
  func keepLogRows(_ kept: ClosedRange<Int64>) throws(StoreError)
}

package protocol OutcomeRows {
  /// - Parameter transaction: 16 bytes.
  func outcome(of transaction: UnsafeRawBufferPointer) throws(StoreError) -> OutcomeColumns?
  func putOutcome(_ outcome: OutcomeColumns, of transaction: UnsafeRawBufferPointer) throws(StoreError)
  func deleteOutcome(of transaction: UnsafeRawBufferPointer) throws(StoreError)
  func forEachOutcome(_ body: (UnsafeRawBufferPointer, OutcomeColumns) throws(StoreError) -> Void) throws(StoreError)
  func countOutcomes(_ outcome: Int64) throws(StoreError) -> Int64
  /// Removes old outcomes, and sets those later than `limit` to `time`.
  func expireOutcomes(_ outcome: Int64, before time: Int64, after limit: Int64) throws(StoreError)
}

/// The commits that wait at a server for the writer whose turn it is. See ``Intent``.
package protocol IntentRows {
  /// Whether the last write found another writer at work.
  var isBusy: Bool { get }
  /// The longest that a write may wait.
  var patience: Duration { get }
  /// Begins to write if nobody else does, and reads the queue.
  ///
  /// - Parameters:
  ///   - id: the queued intent, without which there is no turn; nil for a write that is not queued.
  ///   - box: the intent to queue first; nil if it is queued. It is left out of a full queue.
  /// - Returns: false if another writer is at work.
  func beginWriting(of id: CommitID?, queueing box: [UInt8]?) throws(StoreError) -> Bool
  /// The queue, as it was when the write began.
  func queued() throws(StoreError) -> [(id: CommitID, box: [UInt8])]
  func remove(_ ids: [CommitID]) throws(StoreError)
  /// Marks the state of the write, for ``withdraw(_:)``.
  func mark() throws(StoreError)
  /// Takes back all changes since the mark, and removes the intent `id` from the queue.
  func withdraw(_ id: CommitID) throws(StoreError)
  /// Begins to read, perhaps rows of a later state than the known one; changes are noted, and not made.
  func beginDraft() throws(StoreError)
  func endDraft() throws(StoreError) -> [Intent.Write]
  /// Waits for a commit by others; false after `time`.
  func wait(_ time: Duration) throws(StoreError) -> Bool
  /// Returns when a commit that was read would survive the loss of the server.
  ///
  /// - Throws: `.outcomeUnknown` if a standby may lack it; `.unreachable` if the server is gone.
  func confirm() throws(StoreError)
  func stop()
}

package enum HeaderCopy: Sendable {
  case first
  /// Row 2 of `header_copy`, used if the first is damaged.
  case second
}

/// The columns of a record to read. An omitted value costs nothing.
package enum RecordPart: Sendable {
  case metadata, all
}

package enum SingleTable: String, CaseIterable, Sendable {
  case header
  case headerCopy = "header_copy"
  case state

  package var id: Int64 { self == .headerCopy ? 2 : 1 }
}

/// A stored record, lent for the length of a call.
package struct RecordColumns: ~Copyable {
  /// 16 bytes.
  package let rid: UnsafeRawBufferPointer
  /// The sealed metadata with its tag.
  package let meta: UnsafeRawBufferPointer
  /// The sealed value with its tag; nil if there is none or it was not requested.
  package let value: UnsafeRawBufferPointer?

  package init(rid: UnsafeRawBufferPointer, meta: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?) {
    self.rid = rid
    self.meta = meta
    self.value = value
  }
}

package enum RecordPlace {
  case free
  /// The record must exist and is replaced.
  case taken
  /// Replaces the record at another index, which must exist.
  case moved(from: UnsafeRawBufferPointer)
}

/// The outcome of a transaction over two stores: a number, and milliseconds since 1970.
package struct OutcomeColumns: Sendable {
  package let outcome: Int64, time: Int64

  package init(outcome: Int64, time: Int64) {
    self.outcome = outcome
    self.time = time
  }
}

package enum ExpectedRows: Sendable {
  /// Records per question to a server.
  package static let batch = 256

  /// The lists of all buckets of a table, with at most `most` entries.
  case lists(RecordTable, most: Int)
  /// Ascending by index.
  ///
  /// - Parameter starts: the indices of every ``batch``-th of them, if no change comes between; else none.
  case records(RecordTable, RecordPart, starts: [RecordIndex])
  /// In the next transaction, the current record at an index, and perhaps its bucket's list. After commits by others, also
  /// at most `most` log rows from `first` on.
  case item([UInt8], list: Bool, log: (first: UInt64, most: Int))
  /// In the next transaction, after commits by others, the header and at most `most` log rows from `first` on.
  case others(first: UInt64, most: Int)
  /// In the next transaction, the header.
  case header
  /// In the next transaction, all digests.
  case digests
  case single
}

package enum RowsWork: Sendable {
  /// Writes nearly all rows, in random order.
  case rewriting
  /// Reads many rows once each, in order.
  case scanning
}

package enum RowLimits {
  /// In one row, and in one column of it. The longest row is a record with a value of 2 MiB, padded by at most an eighth, and
  /// a description of 64 KiB.
  package static let rowBytes = 4 * 1024 * 1024
  package static let indexBytes = 16
  /// A description of 64 KiB, padded by at most an eighth, and its seal.
  package static let metaBytes = 80 * 1024
  /// A sealed text has at least a tag.
  package static let sealedBytes = 16...rowBytes
  package static let digestBytes = 32
  package static var headerBytes: ClosedRange<Int> { 1...VaultHeader.largest }
  package static var stateBytes: ClosedRange<Int> { 1...VaultState.largest }
  package static let transactionBytes = 16
  package static var buckets: Int { DigestTree.buckets }
  static let logRows: ClosedRange<Int64> = 0...Int64(FileCounter.most)
}
