import CofferMemory
import CofferPlatform
import CofferStorage

@testable import CofferVault
@testable import CofferVaultFormat

extension OpenVault {
  /// Stores a record with any description, as another writer with the key might.
  func plant(_ meta: RecordMeta, _ value: [UInt8]?, _ change: inout CofferVault.Change) throws(StoreError) {
    var meta = meta
    meta.valueCount = value?.count
    let record: SealedRecord
    if let value {
      let sealed = meta
      record = try value.span.bytes.withUnsafeBytes { (value) throws(StoreError) in try items.records.seal(sealed, value) }
    } else {
      record = try items.records.seal(meta, nil)
    }
    try items.records.put(record, of: meta, &change)
  }
}
