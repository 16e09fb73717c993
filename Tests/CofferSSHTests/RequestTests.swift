import CofferMemory
import CofferPlatform
import Testing

@testable import CofferAgent
@testable import CofferSSH

/// Bytes as RFC 9987 and OpenSSH's PROTOCOL.agent lay them out.
@Suite struct RequestTests {
  @Test func `requests are read as RFC 9987 encodes them`() throws {
    #expect(try read([11]) == "list")
    #expect(try read([13] + string([1, 2]) + string([3]) + [0, 0, 0, 4]) == "sign [1, 2] [3] 4")
    #expect(try read([17, 9, 9]) == "add [9, 9] false")
    #expect(try read([25, 9]) == "add [9] true")
    #expect(try read([18] + string([7])) == "remove [7]")
    #expect(try read([19]) == "remove all")
    #expect(try read([22] + string(Array("pw".utf8))) == "lock [112, 119]")
    #expect(try read([23] + string([])) == "unlock []")
    #expect(try read([27] + string(Array("query".utf8))) == "query")
  }

  @Test func `a binding of OpenSSH's names its host key, session and signature`() throws {
    let name = string(Array("session-bind@openssh.com".utf8))
    let fields = string([1]) + string(Array(repeating: 2, count: 128)) + string([3])
    #expect(try read([27] + name + fields + [1]) == "bind [1] 128 [3] true")
    #expect(try read([27] + name + fields + [0]) == "bind [1] 128 [3] false")
    // Malformed ones are told apart: afterwards the connection is of use to nobody.
    for wrong in [
      fields, fields + [1, 1], string([1]), string([1]) + string(Array(repeating: 2, count: 129)) + string([3]) + [1],
    ] {
      #expect(try read([27] + name + wrong) == "no binding")
    }
  }

  @Test func `tokens, old protocols and unknown extensions are unknown`() throws {
    for kind in UInt8.min...UInt8.max where ![11, 13, 17, 18, 19, 22, 23, 25, 27].contains(kind) {
      #expect(try read([kind, 0, 0, 0, 0]) == "unknown")
    }
    #expect(try read([27] + string(Array("other@example.com".utf8)) + [1, 2, 3]) == "unknown")
    #expect(try read([27] + string([0xFF])) == "unknown")
  }

  @Test(arguments: [
    [], [13], [13, 0, 0, 0, 1], [13, 0xFF, 0xFF, 0xFF, 0xFF], [11, 0], [18], [18, 0, 0, 0, 0, 0], [22, 0, 0], [27],
    [27, 0, 0, 0, 9],
    [13, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
  ])
  func `malformed fields are refused`(_ bytes: [UInt8]) {
    #expect(throws: StoreError.self) { try read(bytes) }
  }

  @Test func `every beginning of a request is refused or understood, and none stops the process`() {
    let whole = [13] + string([1, 2]) + string([3]) + [0, 0, 0, 4]
    for count in 0..<whole.count { #expect(throws: StoreError.self) { try read(Array(whole.prefix(count))) } }
  }

  @Test func `answers have their length before them`() {
    #expect(SSHAnswer.failure == [0, 0, 0, 1, 5])
    #expect(SSHAnswer.success == [0, 0, 0, 1, 6])
    #expect(SSHAnswer.list([]) == [0, 0, 0, 5, 12, 0, 0, 0, 0])
    let key = KeyListing(blob: [1, 2], comment: "a")
    #expect(SSHAnswer.list([key]) == [0, 0, 0, 16, 12, 0, 0, 0, 1, 0, 0, 0, 2, 1, 2, 0, 0, 0, 1, 97])
    #expect(SSHAnswer.signature([9]) == [0, 0, 0, 6, 14, 0, 0, 0, 1, 9])
    let names = ["query", "session-bind@openssh.com"].flatMap { string(Array($0.utf8)) }
    #expect(SSHAnswer.query == string([29] + names))
  }

  @Test func `a list is cut where OpenSSH's clients would refuse it`() {
    let large = Array(repeating: KeyListing(blob: Array(repeating: 1, count: 100_000), comment: ""), count: 4)
    let answer = SSHAnswer.list(large)
    #expect(answer.count <= KeyLimits.mostBytes + 4 && answer[8] == 2)
    let many = Array(repeating: KeyListing(blob: [1], comment: ""), count: 3000)
    #expect(SSHAnswer.list(many)[5...8] == [0, 0, 8, 0])
  }

  @Test func `a question shows who asks, and no invisible character`() {
    func sentence(_ purpose: String, way: String = "", program: String = "git", process: UInt32 = 4711) -> String {
      KeyQuestion(
        ticket: 1, key: "work", purpose: purpose, way: way, program: program, process: process, needsPassphrase: false, left: 60
      ).sentence
    }
    #expect(sentence("sign git") == "git (4711) wants to sign with 'work' for git.")
    #expect(
      sentence("login", way: "git@github.com", program: "ssh") == "ssh (4711) wants to log in with 'work' at git@github.com.")
    #expect(sentence("unwrap", program: "", process: 0) == "a program wants to decrypt with 'work'.")
    #expect(sentence("sign a\u{1B}[2Jb\u{202E}\n", program: "x\r") == "x (4711) wants to sign with 'work' for a[2Jb.")
  }

  @Test func `only the letters of a question approve`() throws {
    let question = KeyQuestion(
      ticket: 7, key: "work", purpose: "sign git", way: "", program: "git", process: 1, needsPassphrase: false, left: 60)
    for (line, expected) in [
      ("o", "once"), ("j", "job"), ("J", "job"), ("m", "600"), ("y", "once"), ("Yes", "once"), ("", "no"), ("n", "no"),
      ("oo", "no"),
    ] {
      let answer: String =
        switch question.approval(try secret(line)) {
        case .yes(7, .once, passphrase: nil): "once"
        case .yes(7, .job, passphrase: nil): "job"
        case .yes(7, .time(let seconds), passphrase: nil): "\(seconds)"
        case .no(7): "no"
        default: "other"
        }
      #expect(answer == expected, "\(line)")
    }
  }

  private func string(_ bytes: [UInt8]) -> [UInt8] {
    withUnsafeBytes(of: UInt32(bytes.count).bigEndian) { Array($0) } + bytes
  }

  @discardableResult private func read(_ bytes: [UInt8]) throws -> String {
    try bytes.withUnsafeBytes { raw in
      switch try SSHRequest.parse(raw) {
      case .list: "list"
      case .sign(let blob, let data, let flags): "sign \(blob) \(data) \(flags)"
      case .add(let fields, let isConstrained): "add \(Array(fields)) \(isConstrained)"
      case .remove(let blob): "remove \(blob)"
      case .removeAll: "remove all"
      case .lock(let passphrase): "lock \(Array(passphrase))"
      case .unlock(let passphrase): "unlock \(Array(passphrase))"
      case .bind(nil): "no binding"
      case .bind(let binding?): "bind \(binding.hostKey) \(binding.sessionID.count) \(binding.signature) \(binding.isForwarding)"
      case .query: "query"
      case .unknown: "unknown"
      }
    }
  }
}
