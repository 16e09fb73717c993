import CofferMemory
import CofferPlatform
import CofferTestSupport
import Foundation
import Testing

@testable import CofferKeys

@Suite struct PrivateKeyTests {
  // Source: RFC 8032, section 7.1, tests 1 to 3: seed, public key, message, signature.
  private static let ed25519 = [
    (
      "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
      "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
    ),
    (
      "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
      "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
    ),
    (
      "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
      "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
      "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
    ),
  ]

  @Test(arguments: ed25519) func `Ed25519 signs as RFC 8032 states`(
    seed: String, point: String, message: String, expected: String
  )
    throws
  {
    let key = try added(
      wire { writer in
        try writer.put("ssh-ed25519")
        try writer.put(bytes(point))
        try writer.put(bytes(seed + point))
        try writer.put("")
      })
    let signature = try key.sign(bytes(message))
    #expect(
      signature
        == (try wire { writer in
          try writer.put("ssh-ed25519")
          try writer.put(bytes(expected))
        }))
    #expect(key.publicKey.accepts(signature, of: bytes(message)))
  }

  @Test func `ECDSA signs as RFC 6979 states, in its section A.2.5`() throws {
    let point =
      "0460fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb67903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299"
    let secret = "c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721"
    let key = try added(
      wire { writer in
        for text in ["ecdsa-sha2-nistp256", "nistp256"] { try writer.put(text) }
        try writer.put(bytes(point))
        try bytes(secret).withBytes { try writer.put(number: $0) }
        try writer.put("")
      })
    let pair = try wire { writer in
      for digits in [
        "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716",
        "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8",
      ] { try bytes(digits).withBytes { try writer.put(number: $0) } }
    }
    let expected = try wire { writer in
      try writer.put("ecdsa-sha2-nistp256")
      try writer.put(pair)
    }
    #expect(try key.sign(Array("sample".utf8)) == expected)
  }

  @Test(arguments: KeyFixture.types) func `a file is read, signs, and is written as a file of the same key`(name: String) throws {
    let key = try KeyFixture.privateKey(name)
    #expect(key.publicKey == (try KeyFixture.publicKey("\(name).pub")))
    #expect(key.comment == (try KeyFixture.comment(KeyFixture.line("\(name).pub"))))
    let (message, other) = (Array("message".utf8), Array("massage".utf8))
    for flags: UInt32 in [2, 4] {
      let signature = try key.sign(message, flags)
      #expect(key.publicKey.accepts(signature, of: message) && !key.publicKey.accepts(signature, of: other))
    }
    let file = try key.file()
    let again = try SSHPrivateKey(file: file)
    #expect(again.publicKey == key.publicKey && again.comment == key.comment)
    let isSame = again.fields.isEqual(to: key.fields)
    #expect(isSame)
    let sealed = try SSHPrivateKey(file: file, isSealed: true)
    #expect(try sealed.publicKey == key.publicKey && key.publicKey.accepts(sealed.sign(message), of: message))
    let written = text(file).split(separator: "\n"), theirs = try KeyFixture.text(name).split(separator: "\n")
    #expect(written.map(\.count) == theirs.map(\.count), "its lines are as long as ssh-keygen's")
  }

  @Test func `OpenSSH's own files are read`() throws {
    for name in ["sshkey/ecdsa_n", "sshkey/ed25519_1", "sshkey/ed25519_2", "sshsig/ed25519"] {
      let key = try KeyFixture.privateKey(name)
      let publicName = name == "sshkey/ecdsa_n" ? "sshkey/ecdsa_1" : name
      #expect(key.publicKey == (try KeyFixture.publicKey("\(publicName).pub")))
    }
  }

  @Test
  func `a file with a passphrase, with a short RSA key, or of another format is unsupported, and the error says what to do`()
    throws
  {
    for name in ["sshkey/ed25519_1_pw", "sshkey/rsa_n", "sshkey/ed25519_1.pub"] {
      try expect(.unsupported) { _ = try KeyFixture.privateKey(name) }
    }
  }

  @Test func `an RSA key whose primes differ in length is refused, and one longer than a request's limit`() throws {
    #expect(try expect(.unsupported) { _ = try KeyFixture.privateKey("own/rsa-uneven") }.what.contains("primes"))
    let request = try KeyFixture.privateKey("own/rsa-long").request()
    for bits in [4103, 4104] {
      let read = {
        try request.withBytes { (raw) throws(StoreError) in
          var reader = SSHReader(raw)
          _ = try SSHPrivateKey(from: &reader, mostBits: bits)
        }
      }
      #expect(kind(read) == (bits == 4104 ? nil : .unsupported))
    }
  }

  @Test func `an RSA request without SHA-2 is refused`() throws {
    let key = try KeyFixture.privateKey("own/rsa")
    for flags: UInt32 in [0, 1, 8] { try expect(.unsupported) { _ = try key.sign([1], flags) } }
    let name = { (signature: [UInt8]) in String(decoding: signature.dropFirst(4).prefix(12), as: UTF8.self) }
    #expect(try name(key.sign([1], 2)) == "rsa-sha2-256" && name(key.sign([1], 4)) == "rsa-sha2-512")
  }

  @Test func `new keys differ, and sign`() throws {
    let key = try SSHPrivateKey.generate(comment: "new")
    let other = try SSHPrivateKey.generate(comment: "new")
    #expect(key.publicKey != other.publicKey && key.comment == "new" && key.publicKey.type == .ed25519)
    let signature = try key.sign([1])
    #expect(key.publicKey.accepts(signature, of: [1]) && !other.publicKey.accepts(signature, of: [1]))
  }

  @Test(arguments: ["own/ed25519", "own/rsa", "own/p384"]) func `a request to add a key with its certificate holds both`(
    name: String
  ) throws {
    let key = try KeyFixture.privateKey(name)
    let certificate = try SSHCertificate(line: KeyFixture.line("\(name)-cert.pub"))
    let request = try KeyFixture.request(key, certificate.blob)
    let both = try added(request)
    #expect(both.certificate == certificate && both.publicKey == key.publicKey && both.comment == "both")
    let isSame = both.fields.isEqual(to: key.fields)
    #expect(isSame)
    // The certificate of another key.
    let others = try KeyFixture.types.filter { $0 != name && !["own/p256", "own/p521"].contains($0) }.map {
      try KeyFixture.blob("\($0)-cert.pub")
    }
    for other in others { #expect(throws: StoreError.self) { _ = try added(KeyFixture.request(key, other)) } }
  }

  @Test(.tags(.campaign), .wholeRun, arguments: KeyFixture.types)
  func `a private key with any bit of its numbers changed, or cut short, is refused`(
    name: String
  ) throws {
    let key = try KeyFixture.privateKey(name)
    let request = try key.request()
    let numbers = request.count - 4 - key.comment.utf8.count
    for bit in Campaign.cases(numbers * 8, short: 200) {
      #expect(throws: StoreError.self, "bit \(bit)") { _ = try added(request.flipped(bit)) }
    }
    for count in Campaign.cases(request.count, short: 100) {
      #expect(throws: StoreError.self) { _ = try added(Array(request.prefix(count))) }
    }
  }

  @Test(.tags(.campaign), .wholeRun, arguments: ["own/ed25519", "own/p256"])
  func `a file with any bit changed is refused, or is of the same key`(name: String)
    throws
  {
    let lines = try KeyFixture.text(name).split(separator: "\n")
    let raw = Array(try #require(Data(base64Encoded: lines.dropFirst().dropLast().joined())))
    let key = try KeyFixture.privateKey(name)
    func read(_ raw: [UInt8]) throws -> SSHPrivateKey {
      try SSHPrivateKey(file: secret("\(lines[0])\n\(Data(raw).base64EncodedString())\n\(lines[lines.count - 1])\n"))
    }
    var accepted = 0
    for bit in Campaign.cases(raw.count * 8, short: 800) {
      do throws(StoreError) {
        let flipped = raw.flipped(bit)
        let again = try StoreError.guarding { try read(flipped) }
        accepted += 1
        #expect(again.publicKey == key.publicKey && again.comment != key.comment)
      } catch { #expect(!error.what.isEmpty) }
    }
    #expect(accepted <= key.comment.utf8.count * 8)
    for count in 0..<raw.count { #expect(throws: StoreError.self) { _ = try read(Array(raw.prefix(count))) } }
    #expect(throws: StoreError.self) { _ = try read(raw + [0]) }
  }

  @Test func `a key with a broken number never signs with RSA`() throws {
    let key = try KeyFixture.privateKey("own/rsa")
    let whole = key.fields.withUnsafeBytes { Array($0) }
    // Offsets of the private numbers: d, inverse, p and q.
    let starts: [Int] = try whole.withBytes { (raw) throws(StoreError) in
      var reader = SSHReader(raw)
      for _ in 0..<3 { _ = try reader.string() }
      var starts: [Int] = []
      for _ in 0..<4 {
        starts.append(reader.offset + 5)
        _ = try reader.string()
      }
      return starts
    }
    #expect(try key.sign([1], 4).isEmpty == false)
    for start in starts {
      for bit in [1, 77, 256, 700] {
        let broken = SSHPrivateKey(try secret(whole.flipped((start + 8) * 8 + bit)), key.publicKey, nil, "")
        #expect(throws: StoreError.self) { _ = try broken.sign([1], 4) }
      }
    }
    // The numbers of another key.
    let other = SSHPrivateKey(try secret(whole), try KeyFixture.publicKey("sshsig/rsa.pub"), nil, "")
    try expect(.damaged) { _ = try other.sign([1], 4) }
  }
}

extension KeyFixture {
  /// The fields of a request to add `key` with a certificate: for ECDSA and RSA the certificate has the public numbers.
  static func request(_ key: borrowing SSHPrivateKey, _ certificate: [UInt8]) throws -> [UInt8] {
    let fields = key.fields.withUnsafeBytes { Array($0) }
    let left = try fields.withBytes { (raw) throws(StoreError) in
      var reader = SSHReader(raw)
      for _ in 0..<(key.publicKey.type == .ed25519 ? 1 : 3) { _ = try reader.string() }
      return Array(fields.dropFirst(reader.offset))
    }
    return try wire { writer in
      try writer.put(key.publicKey.type.certificateName)
      try writer.put(certificate)
      try writer.put(raw: left)
      try writer.put("both")
    }
  }
}
