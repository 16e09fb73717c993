import CofferDefaults
import CofferPlatform
import CofferStorage
import CofferVault

#if canImport(FuzzShared)
  import FuzzShared
#endif

@testable import CofferPostgres
import CofferVaultFormat
import CofferVaultRows

/// Answers of a PostgreSQL server. libpq parses them first, as from a real one.
enum PostgresParsers {
  static let all = [rows, settings]

  static var obstacle: String? { PostgresVaults.obstacle() }

  // It is fixed and well formed, and read once: that takes a tenth of what an input does.
  // swift-format-ignore: NeverUseForceTry
  private static let place = try! PostgresPlace(ScriptedServer.shared.url)

  static let rows = Parser("server-rows", longest: 2048) { input in
    let script = Script(input)
    ScriptedServer.shared.say(script.said)
    let use = RowUse(PostgresSession(place, patience: nil))
    for step in script.steps where !use.outcome.isOver { use.take(step) }
    use.rows.close()
    try use.outcome.judge()
  }

  static let settings = Parser("server-settings") { input in
    let script = Script(input)
    ScriptedServer.shared.say(script.said)
    let use = SettingUse()
    for step in script.steps where !use.outcome.isOver { use.take(step) }
    try use.outcome.judge()
  }
}

/// An input: requests and answers. The first byte counts the steps; its highest bit shows whether the input also answers the
/// questions asked of every server, the next one whether a lost server returns. Then come a byte for each step, and the
/// answers.
private struct Script {
  let steps: ArraySlice<UInt8>
  /// On each connection.
  let said: [[UInt8]]

  init(_ input: [UInt8]) {
    let (first, rest) = input.choice
    steps = rest.prefix(Int(first & 31))
    let messages = ServerMessage.messages(of: rest.dropFirst(steps.count))
    said = Array(repeating: (first & 128 == 0 ? Self.facts : []) + messages, count: first & 64 == 0 ? 1 : 2)
  }

  /// The answers to the questions asked of every server.
  private static let facts =
    ServerMessage.row(["0", ""])
    + ServerMessage.row(["1", PostgresSchema.text, "1", PlainSchema.text, "1", "UTF8", "0"]) + ServerMessage.ready
}

private final class Outcome {
  private var refusal: StoreError?
  private var broken: String?

  private(set) var isOver = false

  func note(_ body: () throws(StoreError) -> Void) {
    do throws(StoreError) { try body() } catch {
      refusal = error
      isOver = error.kind == .unreachable && ScriptedServer.shared.isSilent
    }
  }

  func promise(_ isKept: Bool, _ what: @autoclosure () -> String) { if !isKept { broken = broken ?? what() } }

  func judge() throws {
    if let broken { throw BrokenPromise(broken) }
    guard let refusal else { return }
    let isPlain = "\(refusal)".unicodeScalars.allSatisfy { $0.value >= 32 && $0.value != 127 }
    guard isPlain, !refusal.what.isEmpty, !refusal.cure.isEmpty else {
      throw BrokenPromise("an error that does not say what to do: \(refusal)")
    }
    throw Refused()
  }

  /// A server may report any error, so its kind explains nothing.
  private struct Refused: Error {}
}

/// Uses a vault's rows as its engine does: step by step, and an error ends the transaction.
private final class RowUse {
  let rows: PostgresRows
  let outcome = Outcome()
  private let bell: Bell?

  init(_ session: PostgresSession) {
    rows = PostgresRows(session)
    do throws(StoreError) { bell = try Bell() } catch { bell = nil }
  }

  /// The low five bits select the action, the high three the row.
  func take(_ step: UInt8) {
    let which = Int(step >> 5)
    let index = [UInt8](repeating: UInt8(which) << 5, count: RowLimits.indexBytes)
    outcome.note { () throws(StoreError) in
      do throws(StoreError) {
        try index.span.bytes.withUnsafeBytes { (index) throws(StoreError) in
          if step & 31 < 10 {
            try begin(step & 31, index)
          } else if step & 31 < 22 {
            try read(step & 31, which, index)
          } else {
            try write(step & 31, which, index)
          }
        }
      } catch {
        rows.rollBack()
        throw error
      }
    }
  }

  private func begin(_ step: UInt8, _ index: UnsafeRawBufferPointer) throws(StoreError) {
    switch step {
    case 0: try rows.beginReading()
    case 1: try rows.endReading()
    case 2: try rows.beginWriting()
    case 3: try rows.commit()
    case 4: rows.rollBack()
    case 5: try rows.expect(.item([UInt8](index), list: true, log: (1, 8)))
    case 6: try rows.expect(.item([UInt8](index), list: false, log: (1, 8)))
    case 7: try rows.expect(.lists(.present, most: 16))
    case 8: try rows.expect(.records(.present, .all, starts: []))
    default: if let bell { _ = try rows.session.open().waitForNotice(bell, for: .zero) }
    }
  }

  private func read(_ step: UInt8, _ which: Int, _ index: UnsafeRawBufferPointer) throws(StoreError) {
    let table = which & 1 == 0 ? RecordTable.present : .old
    switch step {
    case 10:
      try rows.lendHeader(which == 0 ? .first : .second) { (bytes) throws(StoreError) in
        outcome.promise(RowLimits.headerBytes.contains(bytes.count), "a header of \(bytes.count) bytes")
      }
    case 11:
      try rows.lendState { (bytes) throws(StoreError) in
        outcome.promise(RowLimits.stateBytes.contains(bytes.count), "a state of \(bytes.count) bytes")
      }
    case 12:
      var last = -1
      try rows.forEachDigest(in: which == 0 ? nil : [0, which]) { (bucket, hash) throws(StoreError) in
        outcome.promise(bucket > last && bucket < RowLimits.buckets, "a digest of bucket \(bucket) behind \(last)")
        outcome.promise(hash.count == RowLimits.digestBytes, "a digest of \(hash.count) bytes")
        last = bucket
      }
    case 13:
      try rows.lendRecord(at: index, in: table, which & 2 == 0 ? .all : .metadata) { (columns) throws(StoreError) in
        check(columns, hasValue: which & 2 == 0)
      }
    case 14:
      var last: [UInt8] = []
      try rows.forEachRecord(in: table) { (index, columns) throws(StoreError) in
        let new = [UInt8](index)
        outcome.promise(
          new.count == RowLimits.indexBytes && last.lexicographicallyPrecedes(new), "a record at \(new) behind \(last)")
        check(columns, hasValue: true)
        last = new
      }
    case 15:
      let bucket = which << 7
      try rows.forEachIndex(inBucket: bucket) { (index, id) throws(StoreError) in
        outcome.promise(
          index.count == RowLimits.indexBytes && id.count == RowLimits.indexBytes, "an index of \(index.count) bytes")
        outcome.promise(IndexOrder(index).bits == bucket, "an index of another bucket than \(bucket)")
      }
    case 16:
      var (least, count) = (Int64(which), 0)
      try rows.logRows.forEachLogRow(from: least, most: which == 0 ? nil : which) { (seq, _) throws(StoreError) in
        outcome.promise(seq >= least, "row \(seq) of the log before \(least)")
        (least, count) = (seq, count + 1)
      }
      outcome.promise(which == 0 || count <= which, "\(count) rows of the log where \(which) were asked for")
    case 17: try rows.logRows.lendLogRow(Int64(which)) { (_) throws(StoreError) in }
    case 18: _ = try rows.logRows.firstLogRow()
    case 19: _ = try rows.outcomeRows.outcome(of: index)
    case 20:
      try rows.outcomeRows.forEachOutcome { (transaction, _) throws(StoreError) in
        outcome.promise(transaction.count == RowLimits.transactionBytes, "a transaction of \(transaction.count) bytes")
      }
    default:
      _ = try rows.outcomeRows.countOutcomes(1)
      try rows.forEachID(in: .state) { (_) throws(StoreError) in }
    }
  }

  private func check(_ columns: borrowing RecordColumns, hasValue: Bool) {
    let (id, meta, value) = (columns.rid.count, columns.meta.count, columns.value?.count)
    outcome.promise(id == RowLimits.indexBytes, "an id of \(id) bytes")
    outcome.promise(RowLimits.sealedBytes.contains(meta), "a description of \(meta) bytes")
    outcome.promise(value.map { hasValue && RowLimits.sealedBytes.contains($0) } ?? true, "a value of \(value ?? 0) bytes")
  }

  private func write(_ step: UInt8, _ which: Int, _ index: UnsafeRawBufferPointer) throws(StoreError) {
    switch step {
    case 22: try rows.putHeader(.first, index)
    case 23: try rows.putState(index)
    case 24: try rows.putDigest(index, bucket: which)
    case 25: try rows.putRecord(at: index, in: .present, RecordColumns(rid: index, meta: index, value: nil), over: .free)
    case 26: try rows.putRecord(at: index, in: .present, RecordColumns(rid: index, meta: index, value: index), over: .taken)
    case 27: try rows.deleteRecord(at: index, in: .present)
    case 28: try rows.logRows.appendLogRow(Int64(which), index)
    case 29: try rows.outcomeRows.putOutcome(OutcomeColumns(outcome: 1, time: 1), of: index)
    case 30: try rows.flush()
    default: try rows.removeAddedRows(keepingLogRows: 0...8, times: 0...8, mostDropped: 8)
    }
  }
}

private final class SettingUse {
  let outcome = Outcome()
  private var settings: PostgresDefaults?

  init() {
    outcome.note { () throws(StoreError) in
      settings = try PostgresDefaults.open(domain: "d", at: VaultPlace(ScriptedServer.shared.url))
    }
  }

  /// The low four bits select the action, the high four the number.
  func take(_ step: UInt8) {
    guard let settings else { return }
    outcome.note { () throws(StoreError) in
      switch step & 15 {
      case 0: _ = try settings.load("a")
      case 1: _ = try settings.load(["a", "b"])
      case 2: _ = try settings.contains("a")
      case 3: _ = try settings.names()
      case 4: _ = try settings.run { (state) throws(StoreError) in try settings.survey(state.session).version }
      case 5:
        let version = step & 128 == 0 ? Int64(step >> 4) : .max
        try settings.run { (state) throws(StoreError) in
          let known = KnownDomain(version: version, commit: nil, names: [Array("a".utf8)])
          let found = try settings.changed(since: known, state.session)
          outcome.promise(found.map { $0.now.version >= version } ?? true, "a domain of before")
        }
      default: try settings.run { (state) throws(StoreError) in try write(step, settings.table, state.session) }
      }
    }
  }

  /// One write as a store makes it, except that an unanswered commit is looked up at once.
  private func write(_ step: UInt8, _ table: PlainTable, _ session: PostgresSession) throws(StoreError) {
    let write = PlainWrite(table, ["a", "b"])
    let connection = try session.open()
    do throws(StoreError) {
      try connection.perform("BEGIN", until: session.deadline)
      try write.begin(connection, session)
      try write.compare(step & 16 == 0 ? [:] : ["a": .integer(1)])
      try write.change([("a", step & 32 == 0 ? .integer(2) : nil), ("b", .string("c"))])
    } catch {
      connection.rollBack(until: session.deadline)
      throw error
    }
    do throws(StoreError) {
      try connection.commit(at: session.shown, until: session.deadline) { () throws(StoreError) in
        try write.queue(connection, session.deadline)
      }
    } catch {
      guard error.kind == .outcomeUnknown, connection.isLost else { throw error }
      _ = try write.isMade(session)
    }
  }
}
