import CofferPlatform
import Testing

@testable import CofferKeys

@Suite struct SigningPurposeTests {
  private static let session = [UInt8](repeating: 7, count: 32)

  private static func login(
    _ blob: [UInt8], session: [UInt8] = session, message: UInt8 = 50, user: String = "git", service: String = "ssh-connection",
    method: String = "publickey", hasSignature: UInt8 = 1, algorithm: String = "ssh-ed25519", hostKey: [UInt8]? = nil
  ) throws -> [UInt8] {
    try wire { writer in
      try writer.put(session)
      try writer.put(raw: [message])
      for text in [user, service, method] { try writer.put(text) }
      try writer.put(raw: [hasSignature])
      try writer.put(algorithm)
      try writer.put(blob)
      if let hostKey { try writer.put(hostKey) }
    }
  }

  private static func purpose(_ data: [UInt8], _ blob: [UInt8]) -> SigningPurpose {
    data.withBytes { SigningPurpose($0, by: blob) }
  }

  private static let hostBound = "publickey-hostbound-v00@openssh.com"

  @Test func `a login is read, with the host's key if the client sends it`() throws {
    let (blob, host) = (try KeyFixture.blob("own/ed25519.pub"), try KeyFixture.blob("own/p256.pub"))
    #expect(
      Self.purpose(try Self.login(blob), blob)
        == .login(SigningPurpose.Login(sessionID: Self.session, user: "git", hostKey: nil)))
    #expect(
      Self.purpose(try Self.login(blob, method: Self.hostBound, hostKey: host), blob)
        == .login(SigningPurpose.Login(sessionID: Self.session, user: "git", hostKey: host)))
    let certificate = try KeyFixture.blob("own/rsa-cert.pub")
    let purpose = Self.purpose(try Self.login(certificate, algorithm: "rsa-sha2-512-cert-v01@openssh.com"), certificate)
    guard case .login = purpose else { return #expect(Bool(false), "\(purpose)") }
  }

  @Test func `a request with any other field is no login`() throws {
    let (blob, rsa) = (try KeyFixture.blob("own/ed25519.pub"), try KeyFixture.blob("own/rsa.pub"))
    let others = [
      try Self.login(blob, session: []), try Self.login(blob, session: [UInt8](repeating: 1, count: 129)),
      try Self.login(blob, message: 51), try Self.login(blob, service: "ssh-userauth"), try Self.login(blob, method: "hostbased"),
      try Self.login(blob, hasSignature: 0), try Self.login(blob, hasSignature: 2), try Self.login(blob, algorithm: "ssh-rsa"),
      try Self.login(rsa), try Self.login(blob, hostKey: rsa), try Self.login(blob, method: Self.hostBound), [],
    ]
    for data in others { #expect(Self.purpose(data, blob) == .other) }
    for algorithm in ["ssh-rsa", "ssh-rsa-cert-v01@openssh.com", "rsa-sha2-256-x", "ssh-ed25519"] {
      #expect(Self.purpose(try Self.login(rsa, algorithm: algorithm), rsa) == .other)
    }
  }

  private static func file(namespace: String = "git", hash: String = "sha512", count: Int = 64) throws -> [UInt8] {
    try Array("SSHSIG".utf8)
      + wire { writer in
        for text in [namespace, "reserved", hash] { try writer.put(text) }
        try writer.put([UInt8](repeating: 3, count: count))
      }
  }

  @Test func `a file's signature is read, unless its namespace is empty or its hash is not of its function`() throws {
    #expect(Self.purpose(try Self.file(), []) == .file(namespace: "git"))
    #expect(Self.purpose(try Self.file(hash: "sha256", count: 32), []) == .file(namespace: "git"))
    for data in [
      try Self.file(namespace: ""), try Self.file(hash: "sha1", count: 20), try Self.file(count: 32), try Self.file() + [0],
    ] { #expect(Self.purpose(data, []) == .other) }
  }

  @Test func `with a bit changed or a byte missing, no request is read as the same`() throws {
    let (blob, host) = (try KeyFixture.blob("own/ed25519.pub"), try KeyFixture.blob("own/p256.pub"))
    for data in [try Self.login(blob, method: Self.hostBound, hostKey: host), try Self.file()] {
      let purpose = Self.purpose(data, blob)
      #expect(purpose != .other)
      for count in 0..<data.count { #expect(Self.purpose(Array(data.prefix(count)), blob) == .other) }
      #expect(Self.purpose(data + [0], blob) == .other)
      guard case .login = purpose else { continue }
      for bit in 0..<data.count * 8 { #expect(Self.purpose(data.flipped(bit), blob) != purpose) }
    }
  }
}
