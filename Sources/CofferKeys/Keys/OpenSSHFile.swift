package import CofferMemory
package import CofferPlatform

/// The file `openssh-key-v1`, without a passphrase. Source: OpenSSH's PROTOCOL.key.
extension SSHPrivateKey {
  private static let begin: StaticString = "-----BEGIN OPENSSH PRIVATE KEY-----"
  private static let end: StaticString = "-----END OPENSSH PRIVATE KEY-----"
  private static let magic = Array("openssh-key-v1\0".utf8)
  /// The most bytes of a file: an RSA key of 8 192 bits takes 7 KiB, and a comment the rest.
  private static let longest = 64 * 1024
  /// The private part is padded to this many bytes, those of a block of no cipher.
  private static let block = 8
  private static let lineCount = 70

  /// - Throws: ``StoreError`` `.unsupported` for a file with a passphrase or of another format; else as ``init(from:)``.
  package init(file text: borrowing SecretBytes, isSealed: Bool = false) throws(StoreError) {
    guard text.count <= Self.longest else { throw .malformedKey("a key's file is longer than \(Self.longest) bytes") }
    let decoded = try StoreError.guarding {
      try SecretBase64.decode(
        SecretBytes.written { (put) throws(StoreError) in
          try text.withUnsafeBytes { (raw) throws(StoreError) in try Self.body(of: raw).forEach(put) }
        })
    }
    guard let decoded else { throw .malformedKey("a key's file is not Base64") }
    self = try decoded.read { (reader) throws(StoreError) in
      guard try reader.take(Self.magic.count).elementsEqual(Self.magic) else {
        throw .malformedKey("a key's file does not begin as openssh-key-v1")
      }
      guard try reader.text() == "none", try reader.text() == "none", try reader.string().isEmpty else {
        throw StoreError(.unsupported, "the key's file has a passphrase", cure: "remove it with ssh-keygen -p")
      }
      guard try reader.uint32() == 1 else { throw .malformedKey("a key's file does not hold one key") }
      let blob = try reader.string()
      let key = try Self.read(section: reader.string(), isSealed)
      guard key.certificate == nil, blob.elementsEqual(key.publicKey.blob) else {
        throw .malformedKey("the public key before the private one is another")
      }
      return key
    }
  }

  private static func read(section: UnsafeRawBufferPointer, _ isSealed: Bool) throws(StoreError) -> SSHPrivateKey {
    var reader = SSHReader(section)
    guard try reader.uint32() == reader.uint32() else { throw .malformedKey("the two check numbers of a key's file differ") }
    let key = try SSHPrivateKey(from: &reader, isSealed: isSealed)
    let padding = try reader.take(section.count - reader.offset)
    guard section.count.isMultiple(of: block), padding.count < block,
      padding.elementsEqual((0..<padding.count).map { UInt8($0 + 1) })
    else { throw .malformedKey("the padding of a key's file is wrong") }
    return key
  }

  /// The Base64 between the first and the last line.
  private static func body(of raw: UnsafeRawBufferPointer) throws(StoreError) -> some Sequence<UInt8> {
    let isSpace = { (byte: UInt8) in [0x20, 0x09, 0x0A, 0x0D].contains(byte) }
    let tail = raw.reversed().prefix(while: isSpace).count
    let text = raw.dropLast(tail).drop(while: isSpace)
    guard text.count >= begin.utf8CodeUnitCount + end.utf8CodeUnitCount, text.starts(with: begin.bytes),
      text.suffix(end.utf8CodeUnitCount).elementsEqual(end.bytes)
    else {
      throw StoreError(
        .unsupported, "the text is not a private key in OpenSSH's format",
        cure: "convert it with ssh-keygen -p")
    }
    return text.dropFirst(begin.utf8CodeUnitCount).dropLast(end.utf8CodeUnitCount).lazy.filter { !isSpace($0) }
  }

  /// The text of the key's file, with lines of 70 characters as `ssh-keygen` writes them.
  ///
  /// - Throws: ``StoreError`` `.memory`.
  package func file() throws(StoreError) -> SecretBytes {
    var section = try SSHWriter()
    let check = UInt32.random(in: .min ... .max)
    for _ in 0..<2 { try section.put(check) }
    try fields.withUnsafeBytes { (raw) throws(StoreError) in try section.put(raw: raw) }
    try section.put(comment)
    let padding = (Self.block - section.count % Self.block) % Self.block
    try section.put(raw: (0..<padding).map { UInt8($0 + 1) })
    let secret = section.secret()
    var whole = try SSHWriter()
    try whole.put(raw: Self.magic)
    for text in ["none", "none", ""] { try whole.put(text) }
    try whole.put(1)
    try whole.put(publicKey.blob)
    try secret.withUnsafeBytes { (raw) throws(StoreError) in try whole.put(raw) }
    let bytes = whole.secret()
    return try StoreError.guarding {
      try SecretBytes.written { put in
        Self.begin.bytes.forEach(put)
        var column = 0
        bytes.withUnsafeBytes { raw in
          SecretBase64.encode(raw) { digit in
            if column % Self.lineCount == 0 { put(0x0A) }
            put(digit)
            column += 1
          }
        }
        put(0x0A)
        Self.end.bytes.forEach(put)
        put(0x0A)
      }
    }
  }
}

extension StaticString {
  fileprivate var bytes: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: utf8Start, count: utf8CodeUnitCount) }
}
