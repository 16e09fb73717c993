import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import Testing

@testable import CofferAgent
@testable import CofferKeys

@Suite struct ApprovalTests {
  private let bench: KeyBench
  private let blob: [UInt8]

  init() throws {
    bench = try KeyBench()
    blob = try bench.newKey("key", KeyBench.metadata(ask: "always"))
  }

  private func question(_ data: [UInt8], asker: Int32 = getpid()) throws -> KeyQuestion {
    try #require(bench.sign(data, blob, asker: asker).question)
  }

  private func isSigned(_ data: [UInt8], ticket: UInt64? = nil, asker: Int32 = getpid()) throws -> Bool {
    try bench.sign(data, blob, asker: asker, ticket: ticket).isSignature(by: blob, of: data)
  }

  @Test func `a question names the key, its use and the asker, and waits under its ticket`() throws {
    let asked = try question(fileData())
    #expect((asked.key, asked.purpose, asked.way, asked.needsPassphrase) == ("key", "sign git", "", false))
    #expect(asked.process == UInt32(getpid()) && asked.left == 60 && asked.ticket != 0)
    bench.time.pass(.seconds(20))
    let again = try #require(try bench.sign(fileData(), blob, ticket: asked.ticket).question)
    #expect((again.ticket, again.left) == (asked.ticket, 40))
    #expect(try bench.questions().map(\.ticket) == [asked.ticket])
  }

  @Test func `once approves the asked use, and no other`() throws {
    let asked = try question(fileData())
    try bench.allow(.yes(asked.ticket, .once, passphrase: nil))
    #expect(kind { _ = try isSigned(fileData(content: 4), ticket: asked.ticket) } == .refused)
    #expect(kind { _ = try isSigned(fileData(), ticket: asked.ticket, asker: getppid()) } == .refused)
    #expect(kind { _ = try isSigned(fileData(), ticket: asked.ticket ^ 1) } == .refused)
    #expect(try isSigned(fileData(), ticket: asked.ticket))
    #expect(kind { _ = try isSigned(fileData(), ticket: asked.ticket) } == .refused)
    #expect(try bench.rows().last { $0.kind == .sign }?.approval == "once")
    #expect(try bench.sign(fileData(), blob).question != nil)
  }

  @Test func `a denial ends the question`() throws {
    let asked = try question(fileData())
    try bench.allow(.no(asked.ticket))
    #expect(kind { try bench.allow(.yes(asked.ticket, .once, passphrase: nil)) } == .notFound)
    #expect(try expect(.refused) { _ = try isSigned(fileData(), ticket: asked.ticket) }.what == "a person denied it")
    #expect(try bench.questions().isEmpty)
  }

  @Test func `a job's approval holds for 10 minutes, for its process group and use alone`() throws {
    let asked = try question(fileData())
    try bench.allow(.yes(asked.ticket, .job, passphrase: nil))
    for content in 0..<30 { #expect(try isSigned(fileData(content: UInt8(content)))) }
    #expect(try bench.sign(fileData("file"), blob).question != nil)
    #expect(try bench.sign(fileData(), blob, asker: 1).question != nil)
    bench.time.pass(.seconds(599))
    #expect(try isSigned(fileData()))
    bench.time.pass(.seconds(1))
    #expect(try bench.sign(fileData(), blob).question != nil)
  }

  @Test func `an approval for a time holds for any job, at most 256 uses and 12 hours`() throws {
    let asked = try question(fileData())
    for seconds in [0, 43_201] as [UInt32] {
      #expect(kind { try bench.allow(.yes(asked.ticket, .time(seconds: seconds), passphrase: nil)) } == .unsupported)
    }
    try bench.allow(.yes(asked.ticket, .time(seconds: 43_200), passphrase: nil))
    #expect(try isSigned(fileData(), ticket: asked.ticket))
    #expect(try isSigned(fileData(), asker: 1))
    for _ in 2..<256 { #expect(try isSigned(fileData())) }
    #expect(try bench.sign(fileData(), blob).question != nil)
  }

  @Test func `an approval of one way is none of another`() throws {
    let (near, far) = (try TestHost("near"), try TestHost("far"))
    let key = try bench.newKey(
      "bound", KeyBench.metadata(["near", "far"], ask: "always", hosts: [near.line, far.line]))
    let (here, there) = (try near.login(key, session: 1), try far.login(key, session: 2))
    let asked = try #require(try bench.sign(here, key, [near.bind(1)]).question)
    #expect((asked.purpose, asked.way) == ("login", "git@near"))
    try bench.allow(.yes(asked.ticket, .time(seconds: 600), passphrase: nil))
    #expect(try bench.sign(here, key, [near.bind(1)]).isSignature(by: key, of: here))
    #expect(try bench.sign(there, key, [far.bind(2)]).question != nil)
    let user = try near.login(key, session: 1, user: "root")
    #expect(try bench.sign(user, key, [near.bind(1)]).question != nil)
  }

  @Test func `ahead approves any use that the rules admit`() throws {
    try bench.allow(.ahead(KeyBench.name("key"), seconds: 60, passphrase: nil))
    #expect(try isSigned(fileData()))
    #expect(kind { _ = try bench.sign([1, 2, 3], blob) } == .refused)
    #expect(kind { try bench.allow(.ahead(KeyBench.name("none"), seconds: 60, passphrase: nil)) } == .notFound)
    bench.time.pass(.seconds(60))
    #expect(try bench.sign(fileData(), blob).question != nil)
  }

  @Test func `an approval under a key's former rules does not count`() throws {
    try bench.allow(.ahead(KeyBench.name("key"), seconds: 60, passphrase: nil))
    #expect(try isSigned(fileData()))
    let beside = try LockedVault.open(bench.vault.settings.vault, options: .withoutPins).unlock(with: TestAgent.credentials())
    var metadata = try #require(try beside.item(KeyBench.name("key"))).metadata
    metadata.attributes["coffer.use.for"] = "sign:git"
    try beside.apply([.describe(KeyBench.name("key"), as: metadata)])
    let asked = try question(fileData())
    metadata.attributes["coffer.use.for"] = "sign:git\nsign:file"
    try beside.apply([.describe(KeyBench.name("key"), as: metadata)])
    try bench.allow(.yes(asked.ticket, .once, passphrase: nil))
    #expect(kind { _ = try isSigned(fileData(), ticket: asked.ticket) } == .refused)
    #expect(try bench.sign(fileData(), blob).question != nil)
  }

  @Test func `a key with passphrase takes no approval without one`() throws {
    let key = try bench.newKey("guarded", KeyBench.metadata(ask: "passphrase"))
    let asked = try #require(try bench.sign(fileData(), key).question)
    #expect(asked.needsPassphrase)
    #expect(kind { try bench.allow(.yes(asked.ticket, .once, passphrase: nil)) } == .refused)
    #expect(kind { try bench.allow(.ahead(KeyBench.name("guarded"), seconds: 60, passphrase: nil)) } == .refused)
    try bench.allow(.yes(asked.ticket, .time(seconds: 60), passphrase: nil), isProven: true)
    #expect(try bench.sign(fileData(), key, ticket: asked.ticket).isSignature(by: key, of: fileData()))
    #expect(try bench.sign(fileData(content: 9), key).isSignature(by: key, of: fileData(content: 9)))
    #expect(try bench.rows().last { $0.kind == .sign }?.approval == "passphrase")
  }

  @Test func `only a passphrase of the held vault and its key approves`() throws {
    let folder = bench.folder.appending("own")
    let other = try UnlockedVault.create(
      at: .file(folder.appending("vault.sqlite")), with: TestAgent.credentials("own"), cost: .testing, options: .withoutPins)
    #expect(kind { try bench.vault.requireHeld(other) } == .wrongSecret)
    let same = try LockedVault.open(bench.vault.settings.vault, options: .withoutPins).unlock(with: TestAgent.credentials())
    try bench.vault.requireHeld(same)
    try bench.vault.compare(form("correct horse"))
    #expect(kind { try bench.vault.compare(form("own")) } == .wrongSecret)
    // A key of the vault that is no longer its own.
    let old = try same.invitation()
    try same.rotate()
    #expect(try same.invitation() != old)
    try bench.vault.compare(form("correct horse"))
    bench.vault.lock(because: "a test")
    #expect(kind { try bench.vault.compare(form("correct horse")) } == .locked)
  }

  @Test func `forwarded asks only if a server forwards`() throws {
    let near = try TestHost("near")
    let key = try bench.newKey("default")
    #expect(try bench.sign(fileData(), key).isSignature(by: key, of: fileData()))
    #expect(try bench.sign(near.login(key, session: 1), key, [near.bind(1)]).question == nil)
    #expect(try bench.sign(fileData(), key, [near.bind(1, forwarding: true)]).question != nil)
  }

  @Test func `after two unanswered questions a key and job rest for 5 minutes`() throws {
    let first = try question(fileData())
    _ = try question(fileData(content: 4))
    bench.time.pass(.seconds(60))
    #expect(kind { _ = try isSigned(fileData(), ticket: first.ticket) } == .refused)
    #expect(try expect(.refused) { _ = try isSigned(fileData()) }.what.contains("300 s"))
    #expect(try bench.sign(fileData(), blob, asker: 1).question != nil)
    bench.time.pass(.seconds(300))
    #expect(try bench.sign(fileData(), blob).question != nil)
  }

  @Test func `64 questions are open at most, 16 of a key and job, and answered ones do not count`() throws {
    for content in 0..<16 as Range<UInt8> { _ = try question(fileData(content: content)) }
    #expect(kind { _ = try isSigned(fileData(content: 16)) } == .refused)
    for number in 0..<3 {
      let key = try bench.newKey("key-\(number)", KeyBench.metadata(ask: "always"))
      for content in 0..<16 as Range<UInt8> { #expect(try bench.sign(fileData(content: content), key).question != nil) }
    }
    let last = try bench.newKey("last", KeyBench.metadata(ask: "always"))
    #expect(kind { _ = try bench.sign(fileData(), last) } == .refused)
    let open = try bench.questions()
    #expect(open.count == 64)
    try bench.allow(.yes(open[0].ticket, .once, passphrase: nil))
    #expect(try bench.sign(fileData(), last).question != nil)
  }

  @Test func `two denials, or programs that leave, let a key and job rest; a yes begins anew`() throws {
    for content in [1, 2] as [UInt8] { try bench.allow(.no(question(fileData(content: content)).ticket)) }
    #expect(try expect(.refused) { _ = try isSigned(fileData()) }.what.contains("300 s"))
    bench.time.pass(.seconds(300))
    try bench.allow(.no(question(fileData()).ticket))
    try bench.allow(.yes(question(fileData()).ticket, .once, passphrase: nil))
    try bench.allow(.no(question(fileData()).ticket))
    _ = try question(fileData())
  }

  private func refusals() throws -> [String] { try bench.rows().filter { $0.kind == .refused }.map(\.detail) }

  @Test func `a question that ends without its program has a row`() throws {
    let asked = try question(fileData())
    try bench.allow(.no(question(fileData("file")).ticket))
    #expect(try refusals().isEmpty)
    bench.time.pass(.seconds(60))
    let both = ["it was denied, or its program left", "nobody answered within 60 s, or the question was about another use"]
    #expect(try refusals().sorted() == both)
    #expect(try bench.rows().allSatisfy { $0.name == "key" && $0.process == UInt32(getpid()) })
    #expect(kind { _ = try isSigned(fileData(), ticket: asked.ticket) } == .refused)
    #expect(try refusals().count == 2)
    bench.time.pass(.seconds(300))
    let child = try Process.run(URL(filePath: "/bin/sleep"), arguments: ["1000"])
    _ = try question(fileData(), asker: child.processIdentifier)
    kill(child.processIdentifier, SIGKILL)
    child.waitUntilExit()
    #expect(try bench.questions().isEmpty)
    #expect(try refusals().contains("its program has gone"))
    _ = try question(fileData())
    bench.vault.lock(because: "a test")
    try bench.unlock()
    #expect(try refusals().contains("the vault was locked"))
  }

  @Test func `256 approvals leave room for one more`() throws {
    for _ in 0..<256 { try bench.allow(.ahead(KeyBench.name("key"), seconds: 43_200, passphrase: nil)) }
    let other = try bench.newKey("other", KeyBench.metadata(ask: "always"))
    try bench.allow(.ahead(KeyBench.name("other"), seconds: 60, passphrase: nil))
    #expect(try bench.sign(fileData(), other).isSignature(by: other, of: fileData()))
    #expect(try isSigned(fileData()))
  }

  @Test func `names that Unicode takes for equal are different ones`() throws {
    try bench.allow(.yes(question(fileData("K")).ticket, .time(seconds: 60), passphrase: nil))
    #expect(try isSigned(fileData("K")))
    #expect(try bench.sign(fileData("\u{212A}"), blob).question != nil)
    let bound = try bench.newKey("bound", KeyBench.metadata(["sign:K"]))
    #expect(try bench.sign(fileData("K"), bound).isSignature(by: bound, of: fileData("K")))
    #expect(kind { _ = try bench.sign(fileData("\u{212A}"), bound) } == .refused)
  }

  @Test func `a program other than Coffer's own asks for itself alone`() throws {
    let child = try Process.run(URL(filePath: "/bin/sleep"), arguments: ["1000"])
    defer {
      kill(child.processIdentifier, SIGKILL)
      child.waitUntilExit()
    }
    #expect(try question(fileData()).process == UInt32(getpid()))
    #expect(try question(fileData(content: 4), asker: 1).process == 1)
    bench.client = ProcessFacts(of: child.processIdentifier)
    let asked = try question(fileData(content: 5), asker: 1)
    #expect(asked.process == UInt32(child.processIdentifier) && asked.program == bench.client?.program)
    bench.client = nil
    #expect(try question(fileData(content: 6), asker: 1).process == 0)
  }

  @Test func `the lock ends questions and approvals`() throws {
    try bench.allow(.ahead(KeyBench.name("key"), seconds: 600, passphrase: nil))
    #expect(try isSigned(fileData()))
    bench.vault.lock(because: "a test")
    try bench.unlock()
    let asked = try question(fileData())
    bench.vault.lock(because: "a test")
    try bench.unlock()
    #expect(kind { try bench.allow(.yes(asked.ticket, .once, passphrase: nil)) } == .notFound)
  }
}
