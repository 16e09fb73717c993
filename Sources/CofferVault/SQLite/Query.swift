/// Every statement on a vault's tables. Each is compiled at its first use and kept.
enum Query: Int, CaseIterable {
  case header, putHeader, headerCopy, putHeaderCopy, state, putState
  case digests, putDigest, deleteDigest
  case record, recordMetadata, recordsBetween, recordsFrom, records, putRecord, replaceRecord, deleteRecord
  case logRows, logBatch, logRow, logStart, appendLog, putLog, trimLog, cutLog
  case headerRows, headerCopyRows, stateRows
  case outcome, outcomes, putOutcome, expireOutcomes, redateOutcomes, droppedOutcomes, forget

  var sql: String {
    switch self {
    case .header: "SELECT bytes FROM header WHERE id=1"
    case .putHeader: "REPLACE INTO header (id, bytes) VALUES (1, ?1)"
    case .headerCopy: "SELECT bytes FROM header_copy WHERE id=2"
    case .putHeaderCopy: "REPLACE INTO header_copy (id, bytes) VALUES (2, ?1)"
    case .state: "SELECT bytes FROM state WHERE id=1"
    case .putState: "REPLACE INTO state (id, bytes) VALUES (1, ?1)"
    case .digests: "SELECT bucket, hash FROM digest ORDER BY bucket"
    case .putDigest: "REPLACE INTO digest (bucket, hash) VALUES (?1, ?2)"
    case .deleteDigest: "DELETE FROM digest WHERE bucket=?1"
    case .record: "SELECT rid, meta, value FROM rec WHERE idx=?1"
    case .recordMetadata: "SELECT rid, meta FROM rec WHERE idx=?1"
    case .recordsBetween: "SELECT idx, rid FROM rec WHERE idx>=?1 AND idx<?2 ORDER BY idx"
    case .recordsFrom: "SELECT idx, rid FROM rec WHERE idx>=?1 ORDER BY idx"
    case .records: "SELECT idx, rid, meta, value FROM rec ORDER BY idx"
    case .putRecord: "REPLACE INTO rec (idx, rid, meta, value) VALUES (?1, ?2, ?3, ?4)"
    case .replaceRecord: "UPDATE rec SET rid=?2, meta=?3, value=?4 WHERE idx=?1"
    case .deleteRecord: "DELETE FROM rec WHERE idx=?1"
    case .logRows: "SELECT seq, box FROM log WHERE seq>=?1 ORDER BY seq"
    case .logBatch: "SELECT seq, box FROM log WHERE seq>=?1 ORDER BY seq LIMIT 256"
    case .appendLog: "INSERT INTO log (seq, box) VALUES (?1, ?2)"
    case .logRow: "SELECT box FROM log WHERE seq=?1"
    case .logStart: "SELECT min(seq) FROM log"
    case .putLog: "REPLACE INTO log (seq, box) VALUES (?1, ?2)"
    case .trimLog: "DELETE FROM log WHERE seq<?1"
    case .cutLog: "DELETE FROM log WHERE seq>=?1"
    case .headerRows: "SELECT id FROM header"
    case .headerCopyRows: "SELECT id FROM header_copy"
    case .stateRows: "SELECT id FROM state"
    case .outcome: "SELECT outcome, time FROM decided WHERE txid=?1"
    case .outcomes: "SELECT txid, outcome, time FROM decided"
    case .putOutcome: "REPLACE INTO decided (txid, outcome, time) VALUES (?1, ?2, ?3)"
    case .expireOutcomes: "DELETE FROM decided WHERE outcome=2 AND time<?1"
    case .redateOutcomes: "UPDATE decided SET time=?1 WHERE outcome=2 AND time>?1"
    case .droppedOutcomes: "SELECT count(*) FROM decided WHERE outcome=2"
    case .forget: "DELETE FROM decided WHERE txid=?1"
    }
  }
}
