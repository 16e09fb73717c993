import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

/// The process that answers ssh, after many signatures. Source of the signatures: OpenSSH's ssh-keygen.
@Suite(.tags(.campaign, .process), .wholeRun) struct FaceMemoryCampaign {
  @Test func `the process that answers ssh holds no part of a key that has signed for it`() throws {
    let home = try Home.withVault()
    home.environment["HOME"] = home.path
    home.environment["SSH_AUTH_SOCK"] = home.path + "/ssh.sock"
    var parts = KeyParts(), blobs = KeyParts(), files: [String] = []
    for type in ["ed25519", "rsa", "ecdsa"] {
      let file = "\(home.path)/\(type)"
      guard try home.program(["ssh-keygen", "-q", "-t", type, "-N", "", "-C", "", "-f", file]) != nil else {
        try Test.skip(without: "ssh-keygen")
      }
      let added = try home.coffer("ssh add \(file) --name \(type) --ask never")
      try #require(added.status == 0, "\(added.err)")
      parts.add(file: try home.content(type))
      let line = try home.content("\(type).pub").split(separator: " ")
      blobs.add(plain: try #require(Data(base64Encoded: String(line[1]))))
      unlink(file)
      files.append(file + ".pub")
    }
    let face = try home.start(by: Home.visible, ["ssh", "run", "--socket", home.path + "/ssh.sock"])
    defer { kill(face.child.id, SIGKILL) }
    eventually("it listens") { home.exists("ssh.sock") }
    let text = try home.file("text", "text")
    let signatures = Campaign.size(short: 4, long: 200)
    for number in 0..<signatures {
      unlink(text + ".sig")
      let words = ["ssh-keygen", "-Y", "sign", "-n", "git", "-f", files[number % files.count], text]
      let answer = try #require(try home.program(words))
      #expect(answer.status == 0, "\(answer.err)")
    }
    let memory = try Self.memory(of: face.child.id)
    #expect(parts.matches(in: memory) == 0)
    // The same search finds what is no secret.
    #expect(blobs.matches(in: memory) > 0)
    print("memory of a process that answers ssh: no part of 3 keys in \(memory.count) bytes after \(signatures) signatures")
  }

  /// All that the process can write to.
  private static func memory(of process: pid_t) throws -> Data {
    let descriptor = open("/proc/\(process)/mem", O_RDONLY | O_CLOEXEC)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    var all = Data()
    let file = try #require(FileHandle(forReadingAtPath: "/proc/\(process)/maps"))
    for line in String(decoding: file.readDataToEndOfFile(), as: UTF8.self).split(separator: "\n") {
      let words = line.split(separator: " ")
      let ends = words[0].split(separator: "-").compactMap { Int($0, radix: 16) }
      guard ends.count == 2, words[1].hasPrefix("rw") else { continue }
      var bytes = [UInt8](repeating: 0, count: ends[1] - ends[0])
      if pread(descriptor, &bytes, bytes.count, ends[0]) > 0 { all += bytes }
    }
    return all
  }
}
