import CofferMemory
import CofferPlatform
import Foundation
import Testing

@testable import CofferKeys

/// Keys and signatures of others.
struct KeyFixture: Decodable {
  /// OpenSSH's own test data.
  let openssh: [String: String]
  /// Made by ssh-keygen for these tests.
  let own: [String: String]

  static let all = Result {
    try JSONDecoder().decode(KeyFixture.self, from: Data(contentsOf: folder.appending(path: "openssh.json")))
  }
  static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Fixtures/Keys")

  /// A file of OpenSSH's, or one of these tests' below `own/`.
  static func text(_ name: String) throws -> String {
    let all = try all.get()
    return try #require(name.hasPrefix("own/") ? all.own[String(name.dropFirst(4))] : all.openssh[name])
  }

  static func line(_ name: String) throws -> String { try text(name).trimmingCharacters(in: .newlines) }
  static func blob(_ name: String) throws -> [UInt8] { try SSHLine.blob(of: line(name)) }
  /// The third word of a line and what follows.
  static func comment(_ line: String) -> String { line.split(separator: " ", maxSplits: 2).dropFirst(2).joined() }
  static func publicKey(_ name: String) throws -> SSHPublicKey { try SSHPublicKey(line: line(name)) }
  static func privateKey(_ name: String) throws -> SSHPrivateKey { try SSHPrivateKey(file: secret(text(name))) }

  static let types = ["own/ed25519", "own/rsa", "own/p256", "own/p384", "own/p521"]
}

func secret(_ bytes: some Collection<UInt8>) throws -> SecretBytes { try Array(bytes).withBytes { try SecretBytes(copying: $0) } }
func secret(_ text: String) throws -> SecretBytes { try secret(text.utf8) }
func text(_ secret: borrowing SecretBytes) -> String { secret.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
func bytes(_ hex: String) -> [UInt8] {
  stride(from: 0, to: hex.count, by: 2).compactMap { UInt8(hex.dropFirst($0).prefix(2), radix: 16) }
}

/// What `write` writes.
func wire(_ write: (inout SSHWriter) throws -> Void) throws -> [UInt8] {
  var writer = try SSHWriter()
  try write(&writer)
  return writer.bytes()
}

/// Reads a private key from `fields`, as a request to add it holds them.
func added(_ fields: [UInt8]) throws -> SSHPrivateKey {
  try fields.withBytes { (raw) throws(StoreError) in
    var reader = SSHReader(raw)
    return try SSHPrivateKey(from: &reader)
  }
}

extension SSHPrivateKey {
  func sign(_ data: [UInt8], _ flags: UInt32 = 4) throws(StoreError) -> [UInt8] {
    try data.withBytes { (data) throws(StoreError) in try sign(data, flags: flags) }
  }

  /// The fields of a request to add it.
  func request() throws -> [UInt8] {
    try fields.withUnsafeBytes { Array($0) } + wire { try $0.put(comment) }
  }
}

extension SSHPublicKey {
  func accepts(_ signature: [UInt8], of data: [UInt8]) -> Bool {
    signature.withBytes { signature in data.withBytes { verify(signature, of: $0) } }
  }
}

extension [UInt8] {
  func flipped(_ bit: Int) -> [UInt8] {
    var copy = self
    copy[bit / 8] ^= 1 << UInt8(bit % 8)
    return copy
  }
}
