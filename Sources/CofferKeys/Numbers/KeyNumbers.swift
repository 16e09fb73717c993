internal import CofferMemory
internal import CofferPlatform

/// The numbers of a key by name (see ``SSHKeyType/privateNames``), as parts of lent bytes.
struct KeyNumbers {
  /// NIST SP 800-131A ends shorter keys. A signature takes as much more time as the cube of the length.
  private static let rsaBits = 2048...8192
  /// Bits that a prime may lack of half the modulus: a signature takes as long as with the longer prime.
  private static let unevenBits = 8
  /// Bytes of a number. Keys that are too long are read, so that the error names their length.
  private static let longestNumber = 2048
  /// Bytes of a public exponent. Longer ones gain nothing, and make a verification as slow as a signature. Source: OpenSSL's
  /// `OPENSSL_RSA_MAX_PUBEXP_BITS`.
  private static let exponentBytes = 8

  let type: SSHKeyType
  private var values: [String: UnsafeRawBufferPointer] = [:]

  init(_ type: SSHKeyType, _ names: [String], from reader: inout SSHReader) throws(StoreError) {
    self.type = type
    try read(names, from: &reader)
  }

  /// Those of `fields`, after the type's name.
  init(_ type: SSHKeyType, _ names: [String], of fields: UnsafeRawBufferPointer) throws(StoreError) {
    var reader = SSHReader(fields)
    _ = try reader.string()
    try self.init(type, names, from: &reader)
  }

  subscript(name: String) -> UnsafeRawBufferPointer { values[name] ?? UnsafeRawBufferPointer(start: nil, count: 0) }

  /// Whether it is an `mpint`; a point is a string.
  private func isNumber(_ name: String) -> Bool { type == .rsa || type.curve != nil && name == "d" }

  /// Source: RFC 8709, section 4; RFC 4253, section 6.6; RFC 5656, section 3.1; OpenSSH's PROTOCOL.key.
  mutating func read(_ names: [String], from reader: inout SSHReader) throws(StoreError) {
    for name in names {
      let limit = type.curve?.count ?? (name == "e" ? Self.exponentBytes : Self.longestNumber)
      values[name] = isNumber(name) ? try reader.number(limit: limit) : try reader.string()
    }
    guard names.first != "curve" || self["curve"].elementsEqual((type.curve?.name ?? "").utf8) else {
      throw .malformedKey("the key's curve is not that of its type")
    }
  }

  func write(_ names: [String], to writer: inout SSHWriter) throws(StoreError) {
    for name in names { if isNumber(name) { try writer.put(number: self[name]) } else { try writer.put(self[name]) } }
  }

  private func term(_ kind: String, _ names: [String]) -> Term {
    let parts = names.map { name -> Term in
      [.word(name), name == "curve" ? .word(type.curve?.libraryName ?? "") : .bytes(self[name])]
    }
    return [.word(kind), .list([type == .rsa ? "rsa" : "ecc"] + parts)]
  }

  /// The length of a number, which has no leading zeros.
  private func bits(_ name: String) -> Int { self[name].count * 8 - (self[name].first?.leadingZeroBitCount ?? 0) }

  /// Requires a length that an RSA key may have.
  func checkLength(most: Int = Self.rsaBits.upperBound) throws(StoreError) {
    guard type != .rsa || Self.rsaBits.lowerBound...most ~= bits("n") else {
      throw .unusable("the RSA key has \(bits("n")) bits, not \(Self.rsaBits.lowerBound) to \(most)")
    }
  }

  /// Requires numbers that a public key of this type may have.
  func checkPublic() throws(StoreError) {
    if let curve = type.curve { return try Gcrypt.requirePoint(self["q"], on: curve) }
    guard type == .rsa else {
      guard self["q"].count == 32 else { throw .malformedKey("an Ed25519 key does not have 32 bytes") }
      return
    }
    try checkLength()
    let (modulus, exponent) = (self["n"], self["e"])
    guard modulus.last.map({ $0 & 1 }) == 1, exponent.last.map({ $0 & 1 }) == 1, !exponent.elementsEqual([1]) else {
      throw .malformedKey("the RSA key's numbers do not fit")
    }
    _ = try Gcrypt.library()
  }

  /// Requires that the private numbers are those of the public ones, which are checked.
  func checkPrivate() throws(StoreError) {
    let isConsistent: Bool
    switch type {
    case .ed25519:
      let (key, point) = (self["d"], self["q"])
      let expected = try Ed25519.expand(UnsafeRawBufferPointer(rebasing: key.prefix(Ed25519.seedCount)))
      isConsistent = expected.withUnsafeBytes { $0.elementsEqual(key) && $0[Ed25519.seedCount...].elementsEqual(point) }
    case .rsa:
      guard min(bits("p"), bits("q")) >= bits("n") / 2 - Self.unevenBits else {
        throw .unusable("the RSA key's primes differ in length")
      }
      isConsistent = try Gcrypt.areConsistent(self)
    default: isConsistent = try Gcrypt.isConsistent(term("private-key", type.privateNames))
    }
    guard isConsistent else { throw .malformedKey("the private half of the key does not match the public one") }
  }

  /// Whether `signature`, without its algorithm's name, is one of `data`.
  func verifies(_ algorithm: String, _ signature: UnsafeRawBufferPointer, _ data: UnsafeRawBufferPointer) throws(StoreError)
    -> Bool
  {
    let key = term("public-key", type.publicNames)
    if let curve = type.curve {
      var numbers = SSHReader(signature)
      let (r, s) = (try numbers.number(limit: curve.count), try numbers.number(limit: curve.count))
      try numbers.end()
      return try Gcrypt.verifies(["sig-val", ["ecdsa", ["r", .bytes(r)], ["s", .bytes(s)]]], data, curve.hash, "raw", key)
    }
    guard type == .rsa else { return Ed25519.verifies(signature, data, self["q"]) }
    guard let hash = GcryptHash(rsaAlgorithm: algorithm), signature.count <= self["n"].count else { return false }
    return try Gcrypt.verifies(["sig-val", ["rsa", ["s", .bytes(signature)]]], data, hash, "pkcs1", key)
  }

  /// Writes an algorithm's name and the signature's bytes.
  func sign(_ data: UnsafeRawBufferPointer, flags: UInt32, to writer: inout SSHWriter) throws(StoreError) {
    let key = term("private-key", type.privateNames)
    if let curve = type.curve {
      // A nonce made of key and message: no state of a random source can repeat or bias it.
      let signature = try Gcrypt.sign(data, curve.hash, "rfc6979", key)
      var pair = try SSHWriter()
      for name in ["r", "s"] {
        try signature.value(name).withBytes { (digits) throws(StoreError) in try pair.put(number: digits) }
      }
      try writer.put(type.rawValue)
      try writer.put(pair.bytes())
    } else if type == .ed25519 {
      try writer.put(type.rawValue)
      try writer.put(Ed25519.sign(data, self["d"]))
    } else {
      // Source: RFC 9987 (SSH agent), signature flags; the order, should both be set, is OpenSSH's.
      let algorithm = flags & 2 != 0 ? "rsa-sha2-256" : flags & 4 != 0 ? "rsa-sha2-512" : ""
      guard let hash = GcryptHash(rsaAlgorithm: algorithm) else { throw .unusable("a signature with SHA-1 is asked for") }
      let digits = try Gcrypt.sign(data, hash, "pkcs1", key).value("s").drop { $0 == 0 }
      try writer.put(algorithm)
      // Source: RFC 8332, section 3: as long as the modulus.
      try writer.put(Array(repeating: 0, count: max(0, self["n"].count - digits.count)) + digits)
    }
  }
}
