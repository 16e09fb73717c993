import CofferMemory
import CofferPlatform

#if canImport(FuzzShared)
  import FuzzShared
#endif

@testable import CofferKeys

/// The parsers that stand beside a key: requests to sign, keys and certificates of hosts, keys to keep, and stanzas of age's.
enum KeyParsers {
  static let all = [login, file, hostKey, privateKey, stanza]

  private static let words = ["ssh-ed25519", "ssh-rsa", "ecdsa-sha2-nistp256", "-cert-v01@openssh.com"]

  /// A login by a key whose blob is its type's name.
  static let login = Parser(
    "ssh-login", longest: 512, words: words + ["ssh-connection", "publickey", "publickey-hostbound-v00@openssh.com"]
  ) { input in
    let blob = try Wire.bytes { try $0.put("ssh-ed25519") }
    guard case .login(let login) = input.lent({ SigningPurpose($0, by: blob) }) else { throw StoreError.malformedKey("no login") }
    let forms = try ["ssh-ed25519", "ssh-ed25519-cert-v01@openssh.com"].map { algorithm in
      try Wire.bytes { writer in
        try writer.put(login.sessionID)
        try writer.put(raw: [50])
        for text in [
          login.user, "ssh-connection", login.hostKey == nil ? "publickey" : "publickey-hostbound-v00@openssh.com",
        ] { try writer.put(text) }
        try writer.put(raw: [1])
        try writer.put(algorithm)
        try writer.put(blob)
        if let hostKey = login.hostKey { try writer.put(hostKey) }
      }
    }
    try promise(forms.contains(input), "a login has another encoding")
  }

  /// The bytes of a signature of a file.
  static let file = Parser("ssh-file-signature", longest: 256, words: ["SSHSIG", "sha256", "sha512", "git"]) { input in
    guard case .file(let namespace) = input.lent({ SigningPurpose($0, by: []) }) else {
      throw StoreError.malformedKey("no signature of a file")
    }
    try promise(!namespace.isEmpty, "a signature of a file is for nothing")
  }

  /// A key, or a certificate, which is signed.
  static let hostKey = Parser("ssh-host-key", longest: 1024, words: words + ["nistp256"]) { input in
    do {
      let key = try SSHPublicKey(blob: input)
      try promise(try SSHPublicKey(line: key.line(comment: "a comment")) == key, "a key's line is another key's")
    } catch let error as StoreError where error.kind == .unsupported {
      let certificate = try SSHCertificate(blob: input)
      try promise(certificate.blob == input && certificate.principals.count <= 256, "a certificate is another")
    }
  }

  /// A private key: the first byte selects a request to add it, or a file without its Base64.
  static let privateKey = Parser("openssh-key", longest: 1024, words: words + ["openssh-key-v1\0", "none"]) { input in
    let key = try key(input)
    let again = try SSHPrivateKey(file: key.file())
    try promise(again.publicKey == key.publicKey && again.comment == key.comment, "a key's file is another key's")
    let signature = try key.sign(UnsafeRawBufferPointer(start: nil, count: 0), flags: 4)
    let isRight = signature.lent { key.publicKey.verify($0, of: UnsafeRawBufferPointer(start: nil, count: 0)) }
    try promise(isRight, "a key's signature is not its own")
  }

  private static func key(_ input: [UInt8]) throws -> SSHPrivateKey {
    let (first, body) = input.choice
    guard first % 2 == 0 else {
      return try SSHPrivateKey(
        file: SecretBytes.written { put in
          for byte in "-----BEGIN OPENSSH PRIVATE KEY-----\n".utf8 { put(byte) }
          body.lent { SecretBase64.encode($0, put) }
          for byte in "\n-----END OPENSSH PRIVATE KEY-----\n".utf8 { put(byte) }
        })
    }
    return try body.lent { (raw) throws(StoreError) in
      var reader = SSHReader(raw)
      let key = try SSHPrivateKey(from: &reader)
      try reader.end()
      return key
    }
  }

  /// 32 bytes of share, and the body. The identity is that of C2SP's vectors.
  static let stanza = Parser("age-stanza", longest: 96) { input in
    let identity = try AgeIdentity(
      text: VaultParsers.secret(Array("AGE-SECRET-KEY-1EGTZVFFV20835NWYV6270LXYVK2VKNX2MMDKWYKLMGR48UAWX40Q2P2LM0".utf8)))
    let isOpened = try Array(input.prefix(32)).lent { (share) throws(StoreError) in
      try Array(input.dropFirst(32)).lent { (body) throws(StoreError) in
        guard let fileKey = try identity.unwrap(share: share, body: body) else { return false }
        return fileKey.count == 16
      }
    }
    guard isOpened else { throw StoreError.malformedKey("a stanza is for another identity") }
  }
}

private enum Wire {
  static func bytes(_ write: (inout SSHWriter) throws -> Void) throws -> [UInt8] {
    var writer = try SSHWriter()
    try write(&writer)
    return writer.bytes()
  }
}
