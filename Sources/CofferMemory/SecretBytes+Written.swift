extension SecretBytes {
  /// The bytes that `write` hands to its argument, in guarded memory. `write` runs twice with the same bytes: the first run
  /// counts them. A growing buffer would leave copies behind.
  package static func written<Failure: Error>(_ write: ((UInt8) -> Void) throws(Failure) -> Void) throws -> SecretBytes {
    var count = 0
    try write { _ in count += 1 }
    var secret = try SecretBytes(zeros: count)
    var at = 0
    try secret.withUnsafeMutableBytes { (out) throws(Failure) in
      try write { byte in
        out[at] = byte
        at += 1
      }
    }
    return secret
  }
}
