import CofferMemory
import CofferPlatform
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferKeys

/// With the programs whose formats these are.
@Suite(.tags(.process), .defaultRun) struct ProgramTests {
  private struct Failed: Error, CustomStringConvertible { let description: String }

  private let folder: TestFolder

  init() throws { folder = try TestFolder("keys") }

  private func run(_ program: String, _ arguments: String..., input: String = "") throws -> String {
    guard access("/usr/bin/\(program)", X_OK) == 0 else { try Test.skip(without: program) }
    let process = Process()
    let (output, typed) = (Pipe(), Pipe())
    process.executableURL = URL(filePath: "/usr/bin/\(program)")
    process.arguments = arguments
    process.currentDirectoryURL = URL(filePath: folder.path.string)
    (process.standardInput, process.standardOutput, process.standardError) = (typed, output, output)
    try process.run()
    try typed.fileHandleForWriting.write(contentsOf: Data(input.utf8))
    try typed.fileHandleForWriting.close()
    let said = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw Failed(description: "\(program) \(arguments): \(said)") }
    return said.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// Writes a file that only its owner may read, as ssh-keygen demands.
  private func write(_ name: String, _ text: String) throws {
    let path = folder.path.appending(name).string
    try Data(text.utf8).write(to: URL(filePath: path))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
  }

  @Test(arguments: KeyFixture.types + ["new"]) func `ssh-keygen reads our files, and verifies our signatures`(name: String) throws
  {
    let key = name == "new" ? try SSHPrivateKey.generate(comment: "new") : try KeyFixture.privateKey(name)
    try write("key", text(try key.file()))
    #expect(try run("ssh-keygen", "-y", "-f", "key") == key.publicKey.line(comment: key.comment))
    #expect(try run("ssh-keygen", "-l", "-f", "key").contains(" \(key.publicKey.fingerprint) "))

    let message = "a message\n"
    for (hash, flags) in [(SecretDigest.sha256, UInt32(2)), (.sha512, 4)] {
      let digest = try hash.hash(secret(message))
      let header = try wire { writer in for text in ["file", "", hash == .sha256 ? "sha256" : "sha512"] { try writer.put(text) } }
      let signed = Array("SSHSIG".utf8) + header + (try wire { writer in try digest.withUnsafeBytes { try writer.put($0) } })
      let signature = try key.sign(signed, flags)
      let whole =
        try Array("SSHSIG".utf8)
        + wire { writer in
          try writer.put(1)
          try writer.put(key.publicKey.blob)
          try writer.put(raw: header)
          try writer.put(signature)
        }
      let armored = Data(whole).base64EncodedString(options: .lineLength76Characters)
      try write("signature", "-----BEGIN SSH SIGNATURE-----\n\(armored)\n-----END SSH SIGNATURE-----\n")
      let said = try run("ssh-keygen", "-Y", "check-novalidate", "-n", "file", "-s", "signature", input: message)
      #expect(said.hasPrefix("Good \"file\" signature"), "\(said)")
    }
  }

  @Test(arguments: ["rsa -b 3072", "rsa -b 2048", "ecdsa -b 256", "ecdsa -b 384", "ecdsa -b 521", "ed25519"])
  func `keys and certificates that ssh-keygen makes are read`(type: String) throws {
    let words = type.split(separator: " ").map(String.init)
    if words.count == 3 {
      _ = try run("ssh-keygen", "-q", "-t", words[0], words[1], words[2], "-N", "", "-C", "a b", "-f", "key")
    } else {
      _ = try run("ssh-keygen", "-q", "-t", words[0], "-N", "", "-C", "a b", "-f", "key")
    }
    _ = try run("ssh-keygen", "-q", "-s", "key", "-I", "id", "-h", "-n", "host", "-V", "20200101:20400101", "-z", "9", "key.pub")
    func read(_ name: String) throws -> String { try String(contentsOfFile: folder.path.appending(name).string, encoding: .utf8) }
    let key = try SSHPrivateKey(file: secret(read("key")))
    #expect(try key.publicKey.line(comment: key.comment) + "\n" == read("key.pub"))
    let certificate = try SSHCertificate(line: read("key-cert.pub"))
    #expect(certificate.key == key.publicKey && certificate.authority == key.publicKey)
    #expect(certificate.proves(host: "host", at: certificate.validAfter, authorities: [key.publicKey]))
    let signature = try key.sign([1, 2, 3])
    #expect(key.publicKey.accepts(signature, of: [1, 2, 3]))
  }

  @Test func `age encrypts to our recipient, and the file key that we unwrap authenticates its header`() throws {
    let identity = try AgeIdentity.generate()
    try write("identity", text(try identity.text()))
    #expect(try run("age-keygen", "-y", "identity") == identity.recipient.text)
    _ = try run("age", "-r", identity.recipient.text, "-o", "sealed", input: "hello")
    let sealed = try Data(contentsOf: URL(filePath: folder.path.appending("sealed").string))
    let end = try #require(sealed.range(of: Data("\n---".utf8)))
    let lines = String(decoding: sealed[..<end.lowerBound], as: UTF8.self).split(separator: "\n")
    let words = lines[1].split(separator: " ")
    #expect(words[1] == "X25519")
    func decoded(_ text: Substring) throws -> [UInt8] { Array(try #require(Data(base64Encoded: text + "="))) }
    let (share, body) = (try decoded(words[2]), try decoded(lines[2]))
    let mac = try decoded(String(decoding: sealed[end.upperBound...].dropFirst().prefix(43), as: UTF8.self)[...])
    let expected = try share.withBytes { (share) throws in
      try body.withBytes { (body) throws in
        guard let fileKey = try identity.unwrap(share: share, body: body) else { return [UInt8]() }
        // Source: C2SP age, "Header MAC".
        let key = try fileKey.withUnsafeBytes {
          try SecretDigest.sha256.derive(from: $0, salt: SecretBytes(zeros: 0), info: "header")
        }
        let header = Array(sealed[..<end.upperBound])
        return try header.withBytes { try SecretDigest.sha256.authenticate($0, with: key) }.withUnsafeBytes { Array($0) }
      }
    }
    #expect(mac == expected)
  }

  @Test(.tags(.slow), .wholeRun, arguments: ["rsa", "ecdsa"])
  func `after a signature no part of the private number stays in memory`(type: String) throws {
    // A new key: other tests hold those of the fixtures in ordinary memory.
    _ = try run("ssh-keygen", "-q", "-t", type, "-N", "", "-C", "", "-f", "key")
    let file = try String(contentsOfFile: folder.path.appending("key").string, encoding: .utf8)
    var needle = try SecretBytes(zeros: 16)
    func use() throws {
      let key = try SSHPrivateKey(file: secret(file))
      for _ in 0..<3 { _ = try key.sign([1, 2, 3]) }
      // The last bytes of the fields are those of a prime, or of ECDSA's number.
      let last = try key.fields.suffix(needle.count + 4)
      needle.withUnsafeMutableBytes { out in last.withUnsafeBytes { out.copyMemory(from: .init(rebasing: $0[..<out.count])) } }
      #expect(try Self.copies(of: needle) > 0, "a key in use is found")
      _ = try key.sign([4])  // It lives until here.
    }
    try use()
    #expect(try Self.copies(of: needle) == 0)
  }

  /// Copies of `needle` in the memory of this process, itself left out.
  private static func copies(of needle: borrowing SecretBytes) throws -> Int {
    // Larger than a shared region, so that it has its own.
    var room = try SecretBytes(zeros: 1 << 20)
    let memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC)
    try #require(memory >= 0)
    defer { close(memory) }
    // A read by path ends after the first part of it.
    let maps = try #require(FileHandle(forReadingAtPath: "/proc/self/maps")).readDataToEndOfFile()
    let regions = String(decoding: maps, as: UTF8.self).split(separator: "\n").compactMap { line in
      let ends = line.prefix { $0 != " " }.split(separator: "-").compactMap { UInt(String($0), radix: 16) }
      return line.contains(" rw") && ends.count == 2 ? ends[0]..<ends[1] : nil
    }
    let ownNeedle = needle.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
    let ownRoom = room.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
    var found = 0
    for region in regions where !region.contains(ownRoom) {
      // Parts overlap, so that none hides the needle between them.
      for start in stride(from: region.lowerBound, to: region.upperBound, by: room.count - needle.count) {
        let wanted = min(room.count, Int(region.upperBound - start))
        found += room.withUnsafeMutableBytes { out in
          let count = pread(memory, out.baseAddress, wanted, off_t(start))
          return needle.withUnsafeBytes { needle in
            guard let base = out.baseAddress, let sought = needle.baseAddress, count >= needle.count else { return 0 }
            var (hits, at) = (0, 0)
            while let next = memchr(base + at, Int32(needle[0]), count - needle.count + 1 - at) {
              at = next - base
              if memcmp(next, sought, needle.count) == 0, start + UInt(at) != ownNeedle { hits += 1 }
              at += 1
            }
            return hits
          }
        }
      }
    }
    return found
  }
}
