internal import Coffer
internal import CofferPlatform

extension SecretBytes {
  /// The bytes that `write` hands to its argument, in guarded memory. `write` runs twice and hands over the same bytes: the first run counts
  /// them. A buffer that grows would leave copies behind.
  static func written(_ write: ((UInt8) -> Void) throws(StoreError) -> Void) throws -> SecretBytes {
    var count = 0
    try write { _ in count += 1 }
    var secret = try SecretBytes(zeros: count)
    var at = 0
    try secret.withUnsafeMutableBytes { (out) throws(StoreError) in
      try write { byte in
        out[at] = byte
        at += 1
      }
    }
    return secret
  }
}
