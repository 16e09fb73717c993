import CofferAgent
import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import SystemPackage
import Testing

@testable import CofferSSH

/// The face on a socket, with the programs of OpenSSH and with hostile bytes.
@Suite(.tags(.process), .defaultRun) struct FaceTests {
  private static let add = "/usr/bin/ssh-add", keygen = "/usr/bin/ssh-keygen"

  private func string(_ bytes: [UInt8]) -> [UInt8] { withUnsafeBytes(of: UInt32(bytes.count).bigEndian) { Array($0) } + bytes }
  private func binding(_ session: UInt8, host: UInt8 = 1, isForwarding: Bool = true) -> [UInt8] {
    [27] + string(Array("session-bind@openssh.com".utf8)) + string([host]) + string([session]) + string([3]) + [
      isForwarding ? 1 : 0
    ]
  }

  @Test func `only this user can reach the socket, and it goes with the face`() throws {
    let folder = try TestFolder("ssh"), path = folder.path.appending("new/ssh.sock")
    func mode(_ path: FilePath) throws -> UInt32? { try FileStatus(ofLinkAt: path)?.permissions }
    do {
      let listener = try SSHListener(at: path)
      #expect(try mode(path) == 0o600 && mode(path.folder) == 0o700)
      let taken = #expect(throws: StoreError.self) { _ = try SSHListener(at: path) }
      #expect(taken?.kind == .alreadyExists)
      listener.removeName()
      #expect(try mode(path) == nil)
    }
    // One that died leaves its socket.
    _ = try SSHListener(at: path)
    #expect(try mode(path) == 0o600)
    _ = try SSHListener(at: path)
    try "text".write(toFile: path.string + ".file", atomically: false, encoding: .utf8)
    let other = #expect(throws: StoreError.self) { _ = try SSHListener(at: FilePath(path.string + ".file")) }
    #expect(other?.kind == .alreadyExists)
    // Another user can lock an open folder for ever.
    chmod(path.folder.string, 0o755)
    let folderHere = open(path.folder.string, O_RDONLY | O_CLOEXEC)
    defer { close(folderHere) }
    #expect(flock(folderHere, LOCK_EX | LOCK_NB) == 0)
    _ = try SSHListener(at: path)
    chmod(path.folder.string, 0o777)
    let open = #expect(throws: StoreError.self) { _ = try SSHListener(at: path) }
    #expect(open?.kind == .denied)
  }

  @Test func `an impossible length ends the connection, and malformed fields do not`() throws {
    let face = try TestFace()
    let connection = try face.connect()
    #expect(connection.ask([13, 0xFF]) == [5])
    #expect(connection.ask([20]) == [5])
    #expect(connection.ask([27] + string(Array("query".utf8)))?.first == 29)
    for length: [UInt8] in [[0, 0, 0, 0], [0, 4, 0, 1], [0xFF, 0xFF, 0xFF, 0xFF]] {
      let connection = try face.connect()
      connection.send(length + [11])
      #expect(connection.answer() == nil)
    }
    #expect(connection.ask([11]) == [12, 0, 0, 0, 0])
  }

  @Test func `a connection keeps 16 servers, each with one session, and none after one that does not forward`() throws {
    let face = try TestFace()
    let many = try face.connect()
    for session in 1...UInt8(16) { #expect(many.ask(binding(session)) == [6]) }
    #expect(many.ask(binding(1)) == [6])
    #expect(many.ask(binding(17)) == [28])
    // Afterwards it cannot be known where requests come from.
    #expect(many.ask([11]) == [5])
    let other = try face.connect()
    #expect(other.ask(binding(1)) == [6])
    #expect(other.ask(binding(1, host: 2)) == [28])
    #expect(other.ask([11]) == [5])
    let last = try face.connect()
    #expect(last.ask(binding(1, isForwarding: false)) == [6])
    #expect(last.ask(binding(2)) == [28])
    let malformed = try face.connect()
    #expect(malformed.ask(Array(binding(1).dropLast())) == [28])
    #expect(malformed.ask([11]) == [5])
  }

  @Test func `ssh-add -x locks the socket until ssh-add -X gives the same passphrase`() throws {
    let face = try TestFace()
    let connection = try face.connect()
    let (lock, unlock) = ([22] + string(Array("pw".utf8)), [23] + string(Array("pw".utf8)))
    #expect(connection.ask([22] + string([])) == [5])
    #expect(connection.ask(unlock) == [5])
    #expect(connection.ask(lock) == [6])
    #expect(connection.ask(lock) == [5])
    #expect(connection.ask([11]) == [12, 0, 0, 0, 0])
    #expect(connection.ask([19]) == [5])
    #expect(connection.ask([27] + string(Array("query".utf8))) == [5])
    #expect(connection.ask(binding(1, isForwarding: false)) == [6])
    #expect(connection.ask([23] + string(Array("px".utf8))) == [5])
    #expect(connection.ask(unlock) == [6])
    #expect(connection.ask([27] + string(Array("query".utf8)))?.first == 29)
  }

  @Test func `another host changes neither the keys of a forwarded agent nor its lock`() throws {
    let face = try TestFace()
    let (here, there) = (try face.connect(), try face.connect())
    #expect(there.ask(binding(1)) == [6])
    for request in [[17, 0], [25, 0], [18] + string([1]), [19], [22] + string([1])] { #expect(there.ask(request) == [5]) }
    #expect(face.refused.map(\.kind) == [.refused, .refused, .refused, .refused, .refused])
    #expect(here.ask([22] + string([1])) == [6])
    #expect(there.ask([23] + string([1])) == [5])
    #expect(here.ask([23] + string([1])) == [6])
    #expect(here.ask([19]) == [6])
  }

  @Test func `after two waits in vain none waits, until the vault was unlocked and used`() throws {
    let face = try TestFace(unlocked: false, patience: .milliseconds(300)) { $0.vaults[0].hasOwnKey = true }
    for count in [1, 2, 2] {
      #expect(try face.connect().ask([11]) == [5])
      #expect(face.tried.count == count)
    }
    try face.unlock()
    #expect(try face.connect().ask([11]) == [12, 0, 0, 0, 0])
    try face.client.lock()
    // The count begins anew too.
    for count in [3, 4, 4] {
      #expect(try face.connect().ask([11]) == [5])
      #expect(face.tried.count == count)
    }
  }

  @Test func `a list waits for the machine's own key, and is never empty while the vault is locked`() throws {
    let opened = try TestFace(unlocked: false, ownKey: true)
    #expect(try opened.connect().ask([11]) == [12, 0, 0, 0, 0])
    #expect(opened.tried == [false])
    let closed = try TestFace(unlocked: false, patience: .milliseconds(1))
    for _ in 1...3 { #expect(try closed.connect().ask([11]) == [5]) }
    #expect(closed.refused.allSatisfy { $0.kind == .locked })
    try closed.unlock()
    #expect(try closed.connect().ask([11]) == [12, 0, 0, 0, 0])
  }

  @Test func `a person unlocks the vault while a list waits`() throws {
    let face = try TestFace(unlocked: false, patience: .seconds(600))
    let connection = try face.connect()
    connection.send([0, 0, 0, 1, 11])
    eventually("it waits") { face.face.waits[0].count == 1 }
    try face.unlock()
    #expect(connection.answer() == [12, 0, 0, 0, 0])
  }

  @Test func `a program that leaves waits no longer`() throws {
    let face = try TestFace(unlocked: false, patience: .seconds(600))
    let connection = try face.connect()
    connection.send([0, 0, 0, 1, 11])
    eventually("it waits") { face.face.waits[0].count == 1 }
    connection.close()
    eventually("it waits no longer") { face.face.waits[0].count == 0 }
  }

  @Test func `a socket with chosen keys takes no other key`() throws {
    let face = try TestFace { $0.keys = ["work"] }
    let connection = try face.connect()
    #expect(connection.ask([17, 0]) == [5])
    #expect(connection.ask([19]) == [5])
    #expect(face.refused.allSatisfy { $0.kind == .refused })
  }

  @Test func `of 200 uses that need a person 64 wait undisturbed, and the others fail at once`() throws {
    let face = try TestFace(patience: .seconds(600))
    // 16 of each key wait.
    let names = try (0..<4).map { try ItemName(service: "key-\($0)") }
    let blobs = try names.map { name in
      let made = try face.client.ask(Calls.put, .newKey(name, ItemMetadata(attributes: ["coffer.use.ask": "always"])))
      return try #require(made.first.flatMap { Data(base64Encoded: String($0.split(separator: " ")[1])) })
    }
    func using(_ number: Int) throws -> RawConnection {
      let hash = [UInt8](repeating: UInt8(number), count: 64)
      let data = Array("SSHSIG".utf8) + string(Array("file".utf8)) + string([]) + string(Array("sha512".utf8)) + string(hash)
      let connection = try face.connect()
      connection.send(string([13] + string(Array(blobs[number % 4])) + string(data) + [0, 0, 0, 0]))
      return connection
    }
    func open() throws -> Int { try face.client.ask(Calls.uses, 0).count }
    let waiting = try (0..<64).map(using)
    try eventually("64 wait") { try open() == 64 }
    // Fewer at a time than the face takes connections.
    for first in stride(from: 64, to: 200, by: 34) {
      for connection in try (first..<first + 34).map(using) { #expect(connection.answer() == [5]) }
    }
    #expect(try open() == 64)
    #expect(face.refused.count == 136 && face.refused.allSatisfy { $0.what.hasSuffix("64 of all") })
    for name in names { try face.client.allow(.ahead(name, seconds: 600, passphrase: nil)) }
    for connection in waiting { #expect(connection.answer()?.first == 14) }
  }

  // MARK: OpenSSH

  @Test func `ssh-add adds, lists and removes keys`() throws {
    let face = try TestFace()
    #expect(try face.run(Self.keygen, "-q", "-t", "ed25519", "-N", "", "-C", "one", "-f", "one").status == 0)
    #expect(try face.run(Self.keygen, "-q", "-t", "ecdsa", "-N", "", "-C", "two", "-f", "two").status == 0)
    #expect(try face.run(Self.add, "-l").status == 1)
    #expect(try face.run(Self.add, "one").status == 0)
    #expect(try face.run(Self.add, "-t", "3600", "two").status == 0)
    let list = try face.run(Self.add, "-L")
    #expect(list.out.contains(" one\n") && list.out.contains(" two\n"), "\(list.out)")
    #expect(try face.run(Self.add, "-d", "one").status == 0)
    #expect(try !face.run(Self.add, "-l").out.contains(" one "))
    #expect(try face.run(Self.add, "-D").status == 0)
    #expect(try face.run(Self.add, "-l").status == 1)
  }

  @Test func `ssh-keygen signs by a key of the agent, and its signature verifies`() throws {
    let face = try TestFace()
    #expect(try face.run(Self.keygen, "-q", "-t", "ed25519", "-N", "", "-C", "one", "-f", "one").status == 0)
    #expect(try face.run(Self.add, "one").status == 0)
    unlink(face.folder.path.appending("one").string)
    try "text".write(toFile: face.folder.path.appending("text").string, atomically: false, encoding: .utf8)
    let signed = try face.run(Self.keygen, "-Y", "sign", "-f", "one.pub", "-n", "file", "text")
    #expect(signed.status == 0, "\(signed.out)")
    let checked = try face.run(Self.keygen, "-Y", "check-novalidate", "-n", "file", "-s", "text.sig", input: "text")
    #expect(checked.status == 0, "\(checked.out)")
  }

  @Test func `a key added with -c is not used without an answer`() throws {
    let face = try TestFace(patience: .milliseconds(1))
    #expect(try face.run(Self.keygen, "-q", "-t", "ed25519", "-N", "", "-f", "one").status == 0)
    #expect(try face.run(Self.add, "-c", "one").status == 0)
    try "text".write(toFile: face.folder.path.appending("text").string, atomically: false, encoding: .utf8)
    #expect(try face.run(Self.keygen, "-Y", "sign", "-f", "one.pub", "-n", "file", "text").status != 0)
    #expect(face.refused.contains { $0.what.contains("nobody has answered in time") })
  }
}

/// OpenSSH's own tests of agents, against the program: see `openssh/run`.
@Suite(.tags(.process, .slow), .wholeRun) struct OpenSSHTests {
  private static let suite = "/usr/local/lib/coffer-tests/openssh/usr/lib/openssh/regress"

  @Test(arguments: [
    "agent", "agent-subprocess", "agent-timeout", "agent-restrict", "agent-getpeereid", "sshsig", "hostkey-agent", "cert-file",
  ])
  func `OpenSSH's own tests pass`(_ test: String) throws {
    guard access(Self.suite + "/agent.sh", R_OK) == 0 else { try Test.skip(without: "openssh-tests") }
    let missing = (["/usr/sbin/sshd", "/usr/bin/make"] as [String]).first { access($0, X_OK) != 0 }
    if let missing { try Test.skip(without: missing) }
    // Another user comes to the socket there: this one may be nobody by sudo.
    let asNobody = test == "agent-getpeereid"
    if asNobody, try geteuid() == 0 || !Self.mayBeNobody() { try Test.skip("it needs a user whom sudo lets be nobody, not root") }
    let built = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    let folder = try TestFolder("openssh")
    let process = Process(), output = Pipe()
    let run = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("openssh/run")
    // They wait for some events without an end.
    process.executableURL = URL(fileURLWithPath: "/usr/bin/timeout")
    process.arguments = ["900", run.path, test]
    process.environment = Sanitizing.environment.merging([
      "PATH": "/usr/sbin:/usr/bin:/bin", "HOME": folder.path.string, "TMPDIR": folder.path.string, "OPENSSH_TESTS": Self.suite,
      "COFFER": built.appendingPathComponent("coffer").path, "SUDO": asNobody ? "sudo" : "",
    ]) { $1 }
    (process.standardOutput, process.standardError) = (output, output)
    try process.run()
    let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    let log = FileManager.default.enumerator(atPath: folder.path.string)?.compactMap { $0 as? String }.first {
      $0.hasSuffix("/1.log")
    }
    let said = log.flatMap { try? String(contentsOfFile: folder.path.string + "/" + $0, encoding: .utf8) } ?? ""
    #expect(process.terminationStatus == 0 && text == "\(test) ok\n", "\(text)\(said.suffix(4000))")
  }

  private static func mayBeNobody() throws -> Bool {
    guard access("/usr/bin/sudo", X_OK) == 0 else { try Test.skip(without: "sudo") }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/sudo")
    process.arguments = ["-n", "-u", "nobody", "true"]
    (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus == 0
  }
}
