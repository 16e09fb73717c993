import Coffer
import CofferDefaults
import CofferMemory
import CofferObservation
import CofferStorage
import CofferValues
import CofferVault
import CofferTestSupport
import Foundation
import Testing

@Suite(.serialized, .tags(.process), .defaultRun) struct CredentialFileTests {
  private func withFolder(_ body: (FilePath) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("coffer-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(FilePath(folder.path))
  }

  private static func write(_ bytes: Data, _ path: FilePath) throws { try bytes.write(to: URL(filePath: path.string)) }

  private static func text(_ secret: borrowing SecretBytes?) -> String? {
    switch secret {
    case .some(let bytes): bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    case .none: nil
    }
  }

  private func expect(
    _ kind: StoreError.Kind, at path: FilePath?, _ body: () throws -> Void, _ at: SourceLocation = #_sourceLocation
  ) {
    let error = #expect(throws: StoreError.self, sourceLocation: at) { try body() }
    #expect(error?.kind == kind, sourceLocation: at)
    if let path { #expect(error?.place == path.string, sourceLocation: at) }
    #expect(error?.cure.isEmpty == false && error?.description.contains("hush") == false, sourceLocation: at)
  }

  @Test
  func `a key file and a passphrase file are read whole; one line end after a passphrase is none of it`() throws {
    try withFolder { folder in
      let path = folder.appending("file")
      try Self.write(Data("hush hush\n".utf8), path)
      #expect(Self.text(try Credentials(keyFileAt: path).keyFile) == "hush hush\n")
      #expect(Self.text(try Credentials(passphraseFileAt: path).passphrase) == "hush hush")
      try Self.write(Data("hush\r\n".utf8), path)
      #expect(Self.text(try Credentials(passphraseFileAt: path).passphrase) == "hush")
      let large = Data(repeating: 7, count: 1 << 20)
      try Self.write(large, path)
      #expect(Self.text(try Credentials(keyFileAt: path).keyFile)?.utf8.count == 1 << 20)
    }
  }

  @Test
  func `a named pipe is read to its end, and its writer waited for`() throws {
    try withFolder { folder in
      let path = folder.appending("pipe")
      try #require(mkfifo(path.string, 0o600) == 0)
      for text in ["hush ", "hush\n"] {
        // A writer waits for a reader too, so their order does not matter.
        Thread.detachNewThread {
          let descriptor = open(path.string, O_WRONLY | O_CLOEXEC)
          for part in [text, text] { _ = part.withCString { Foundation.write(descriptor, $0, strlen($0)) } }
          close(descriptor)
        }
        #expect(Self.text(try Credentials(keyFileAt: path).keyFile) == text + text)
      }
    }
  }

  @Test
  func `what is not there, is a folder, is empty or too large is an error with the path and a cure`() throws {
    try withFolder { folder in
      let path = folder.appending("file")
      expect(.io(ENOENT), at: path) { _ = try Credentials(keyFileAt: path) }
      expect(.io(EISDIR), at: folder) { _ = try Credentials(keyFileAt: folder) }
      expect(.io(ENOTDIR), at: path.appending("x")) {
        try Self.write(Data("hush".utf8), path)
        _ = try Credentials(keyFileAt: path.appending("x"))
      }
      try Self.write(Data(repeating: 7, count: 1 << 20 + 1), path)
      expect(.tooLarge(limit: 1 << 20), at: path) { _ = try Credentials(keyFileAt: path) }
      expect(.tooLarge(limit: 1026), at: path) { _ = try Credentials(passphraseFileAt: path) }
      try Self.write(Data(repeating: 7, count: 1025), path)
      expect(.tooLarge(limit: 1024), at: nil) { _ = try Credentials(passphraseFileAt: path) }
      try Self.write(Data("\n".utf8), path)
      expect(.unfitSecret, at: path) { _ = try Credentials(passphraseFileAt: path) }
      expect(.tooLarge(limit: 1 << 20), at: "/dev/zero") { _ = try Credentials(keyFileAt: "/dev/zero") }
    }
  }

  @Test
  func `the environment's key file, passphrase file and identity are found; the service's passphrase where there is no other`()
    async
  {
    await #expect(processExitsWith: .success) {
      for name in ["COFFER_KEY_FILE", "COFFER_PASSPHRASE_FILE", "COFFER_IDENTITY", "CREDENTIALS_DIRECTORY", "COFFER_PASSPHRASE"] {
        unsetenv(name)
      }
      let folder = FilePath(FileManager.default.temporaryDirectory.path).appending("coffer-\(UUID().uuidString)")
      try FileManager.default.createDirectory(atPath: folder.string, withIntermediateDirectories: true)
      func kind() -> StoreError.Kind? {
        do { _ = try Credentials.standard() } catch { return error.kind }
        return nil
      }
      #expect(kind() == .noCredentials)
      setenv("COFFER_PASSPHRASE", "hush", 1)
      setenv("COFFER_KEY_FILE", "", 1)
      #expect(kind() == .noCredentials, "any program of this user may read the environment of a process")
      for name in ["key", "passphrase", "identity", "coffer.passphrase"] {
        try Self.write(Data("the \(name)\n".utf8), folder.appending(name))
      }
      // A bare secret key; anything else is refused when read.
      let identity = String(repeating: "k", count: 32)
      setenv("COFFER_IDENTITY", folder.appending("identity").string, 1)
      #expect(kind() == .damaged)
      try Self.write(Data(identity.utf8), folder.appending("identity"))
      unsetenv("COFFER_IDENTITY")
      setenv("CREDENTIALS_DIRECTORY", folder.string, 1)
      #expect(Self.text(try Credentials.standard().passphrase) == "the coffer.passphrase")
      setenv("COFFER_KEY_FILE", folder.appending("key").string, 1)
      setenv("COFFER_IDENTITY", folder.appending("identity").string, 1)
      setenv("COFFER_PASSPHRASE_FILE", folder.appending("passphrase").string, 1)
      let all = try Credentials.standard()
      #expect(Self.text(all.passphrase) == "the passphrase" && Self.text(all.keyFile) == "the key\n")
      #expect(Self.text(all.identity) == identity)
      setenv("COFFER_PASSPHRASE_FILE", "-", 1)
      #expect(kind() == .unsupported)
      setenv("COFFER_PASSPHRASE_FILE", folder.appending("none").string, 1)
      #expect(kind() == .io(ENOENT))
      try FileManager.default.removeItem(atPath: folder.string)
    }
  }
}
