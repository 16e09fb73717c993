import CofferTestSupport
import CofferMemory
import CofferPlatform
import CofferStorage
import Foundation
import Testing

@Suite struct SealedTests {
  @Test func `a sealed value shows nothing wherever it is printed`() throws {
    let sealed = try Sealed(AuthToken(access: "hush-hush"))
    var dumped = ""
    dump(sealed, to: &dumped)
    dump([sealed as Sealed<AuthToken>?], to: &dumped)
    struct Holder { let token: Sealed<AuthToken> }
    dump(Holder(token: sealed), to: &dumped)
    let texts = [
      "\(sealed)", String(describing: sealed), String(reflecting: sealed), "\(Holder(token: sealed))", dumped,
      "\(Mirror(reflecting: sealed).children.map { "\($0)" })", "\(sealed as Any)", "\([sealed])", "\(sealed as Sealed?)",
    ]
    for text in texts { #expect(!text.contains("hush")) }
    #expect("\(sealed)" == "Sealed(•••)")
    #expect(String(reflecting: sealed) == "Sealed(•••)")
    #expect(Mirror(reflecting: sealed).children.isEmpty)
  }

  @Test func `equality compares the bytes`() throws {
    #expect(try Sealed("abc") == Sealed("abc"))
    #expect(try Sealed("abc") != Sealed("abd"))
    #expect(try Sealed("abc") != Sealed("abcd"))
    #expect(try Sealed("") == Sealed(""))
    #expect(try Sealed(AuthToken(access: "x")) == Sealed(AuthToken(access: "x")))
  }

  // A comparison that stops at the first difference is some thousand times faster over a megabyte. It measures the thread's
  // CPU time, which does not depend on load.
  @Test func `equality takes as long for an early difference as for a late one`() throws {
    let zeros = [UInt8](repeating: 0, count: 1 << 20)
    var early = zeros, late = zeros
    early[0] = 1
    late[zeros.count - 1] = 1
    let sealed = try Sealed(zeros)
    func computed() -> Int {
      var time = timespec()
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
      return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
    func time(_ other: Sealed<[UInt8]>) -> Int {
      let times = (0..<10).map { _ in
        let begin = computed()
        #expect(sealed != other)
        return computed() - begin
      }
      return times.min() ?? 0
    }
    let (first, last) = (try time(Sealed(early)), try time(Sealed(late)))
    #expect(last > 0)
    #expect(first * 20 > last)
  }

  @Test func `reveal gives the payload back`() throws {
    let token = AuthToken(access: "hush", expiry: Date(timeIntervalSince1970: 1_700_000_000))
    #expect(try Sealed(token).reveal() == token)
    #expect(try Sealed(token).reveal(\.access) == "hush")
    #expect(try Sealed(Data([0, 255])).reveal() == Data([0, 255]))
    #expect(try Sealed(["a": 1]).reveal() == ["a": 1])
    struct Refused: Error {}
    #expect(throws: Refused.self) { try Sealed("x").reveal { _ in throw Refused() } }
  }

  @Test func `withBytes lends text and data as they are, anything else as JSON`() throws {
    func bytes<P>(_ sealed: Sealed<P>) -> [UInt8] { sealed.withBytes { span in span.withUnsafeBytes { Array($0) } } }
    #expect(try bytes(Sealed("né")) == Array("né".utf8))
    #expect(try bytes(Sealed([UInt8]([1, 0, 2]))) == [1, 0, 2])
    #expect(try bytes(Sealed(Data([9]))) == [9])
    #expect(try bytes(Sealed(["b": 1, "a": 2])) == Array(#"{"a":2,"b":1}"#.utf8))
    #expect(bytes(Sealed<String>(guarded: try SecretBytes.random(32))).count == 32)
  }

  @Test func `bytes that are no value of the type are undecodable, unquoted`() throws {
    let notText = Sealed<String>(guarded: try SecretBytes(copying: [0xff, 0xfe]))
    let notJSON = Sealed<AuthToken>(guarded: try SecretBytes(copying: Array("hush".utf8)))
    let error = try #require(throws: StoreError.self) { try notText.reveal() }
    let other = try #require(throws: StoreError.self) { try notJSON.reveal() }
    #expect(error.kind.isUndecodable && other.kind.isUndecodable)
    #expect(!"\(other)".contains("hush"))
  }

  @Test func `a secret key hands out what was sealed`() throws {
    let bench = try Bench()
    #expect(try bench.app.value(for: bench.keys.token) == nil)
    try bench.app.set(Sealed(AuthToken(access: "one")), for: bench.keys.token)
    let read = try #require(try bench.app.value(for: bench.keys.token))
    #expect(try read == Sealed(AuthToken(access: "one")))
    #expect(try bench.plain.names().isEmpty)
  }
}

extension SecretBytes {
  init(copying bytes: [UInt8]) throws {
    try self.init(count: bytes.count, memory: { $0 as any Error }, fill: { $0.copyBytes(from: bytes) })
  }
}
