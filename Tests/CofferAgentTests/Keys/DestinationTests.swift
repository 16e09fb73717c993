import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import Testing

@testable import CofferAgent
@testable import CofferKeys

/// The cases of OpenSSH's agent-restrict test, and forged bindings.
@Suite struct DestinationTests {
  private let bench: KeyBench
  private let near: TestHost, far: TestHost, other: TestHost

  init() throws {
    bench = try KeyBench()
    (near, far, other) = (try TestHost("near"), try TestHost("far"), try TestHost("other"))
  }

  private func key(_ rules: String...) throws -> [UInt8] {
    try bench.newKey("key", KeyBench.metadata(rules, ask: "never", hosts: [near.line, far.line]))
  }

  /// The reason of a refusal; nil for a signature.
  private func refusal(_ data: [UInt8], _ blob: [UInt8], _ bindings: [SessionBinding]) throws -> String? {
    do {
      let outcome = try bench.sign(data, blob, bindings)
      #expect(try outcome.isSignature(by: blob, of: data))
      return nil
    } catch let error as StoreError {
      #expect(error.kind == .refused)
      return error.what
    }
  }

  @Test func `a bound key logs in at its host, as its user, and nowhere else`() throws {
    let blob = try key("git@near")
    #expect(try refusal(near.login(blob, session: 1), blob, [near.bind(1)]) == nil)
    #expect(try refusal(near.login(blob, session: 1, namesHost: false), blob, [near.bind(1)]) == nil)
    #expect(try refusal(near.login(blob, session: 1, user: "root"), blob, [near.bind(1)]) == "root@near is not in its rules")
    #expect(try refusal(far.login(blob, session: 1), blob, [far.bind(1)])?.contains("is not in its rules") == true)
    #expect(try refusal(near.login(blob, session: 1), blob, [])?.contains("not bound") == true)
    #expect(try refusal(near.login(blob, session: 2), blob, [near.bind(1)])?.contains("another session") == true)
    #expect(try refusal(far.login(blob, session: 1), blob, [near.bind(1)])?.contains("another host key") == true)
    #expect(
      try refusal(near.login(blob, session: 1), blob, [near.bind(1, forwarding: true)]) == "tried to sign on forwarding hop")
    #expect(try refusal(fileData(), blob, [])?.contains("sign:git") == true)
  }

  @Test func `a host that lies about its name is refused, and the log names its host key`() throws {
    let blob = try bench.newKey("key", KeyBench.metadata(["near"], ask: "never", hosts: [near.line]))
    // Its own key under another's name, and another's key without that one's signature.
    #expect(try bench.names([other.bind(1)]).isEmpty)
    #expect(try refusal(other.login(blob, session: 1), blob, [other.bind(1)])?.contains("is not in its rules") == true)
    #expect(
      try bench.rows().last.map { [$0.kind.rawValue, $0.name, $0.hostKey] } == [
        UseRow.Kind.refused.rawValue, "key", other.key.publicKey.fingerprint,
      ])
    let stolen = try other.bind(1).with(hostKey: near.blob)
    #expect(kind { _ = try bench.list([stolen]) } == .refused)
    #expect(try refusal(near.login(blob, session: 1), blob, [stolen])?.contains("signature") == true)
    #expect(try bench.rows().last?.detail.contains("signature") == true)
  }

  @Test func `users are patterns`() throws {
    let blob = try key("deploy-*@near", "?@far")
    #expect(try refusal(near.login(blob, session: 1, user: "deploy-web"), blob, [near.bind(1)]) == nil)
    #expect(try refusal(near.login(blob, session: 1, user: "deploy"), blob, [near.bind(1)]) != nil)
    #expect(try refusal(far.login(blob, session: 1, user: "x"), blob, [far.bind(1)]) == nil)
    #expect(try refusal(far.login(blob, session: 1, user: "xy"), blob, [far.bind(1)]) != nil)
  }

  @Test func `each hop of a forwarded connection needs its rule`() throws {
    let blob = try key("near", "near>git@far")
    let hop = try near.bind(1, forwarding: true)
    #expect(try refusal(far.login(blob, session: 2), blob, [hop, far.bind(2)]) == nil)
    #expect(try refusal(far.login(blob, session: 2), blob, [far.bind(2)]) != nil)
    #expect(
      try refusal(far.login(blob, session: 2, namesHost: false), blob, [hop, far.bind(2)])?.contains("no host key") == true)
    #expect(try refusal(far.login(blob, session: 2, user: "x"), blob, [hop, far.bind(2)]) != nil)
    #expect(try refusal(other.login(blob, session: 2), blob, [hop, other.bind(2)]) != nil)
    #expect(try refusal(far.login(blob, session: 2), blob, [other.bind(1, forwarding: true), far.bind(2)]) != nil)
    #expect(try refusal(far.login(blob, session: 2), blob, [near.bind(1), far.bind(2)])?.contains("bound for a login") == true)
    let long = try [hop, near.bind(3, forwarding: true), far.bind(2)]
    #expect(try refusal(far.login(blob, session: 2), blob, long) != nil)
  }

  @Test func `a list hides keys that are of no use there, and begins with those for the host`() throws {
    try bench.newKey("any")
    try bench.newKey("here", KeyBench.metadata(["near"], hosts: [near.line]))
    try bench.newKey("beyond", KeyBench.metadata(["near", "near>far"], hosts: [near.line, far.line]))
    try bench.newKey("signs", KeyBench.metadata(["sign:git"]))
    #expect(try Set(bench.names()) == ["any", "here", "beyond", "signs"])
    #expect(try bench.names([near.bind(1)]) == ["beyond", "here", "any"])
    #expect(try bench.names([near.bind(1, forwarding: true)]) == ["beyond", "any"])
    #expect(try bench.names([near.bind(1, forwarding: true), far.bind(2)]) == ["beyond", "any"])
    #expect(try bench.names([other.bind(1)]) == ["any"])
    // asyncssh, paramiko, dbclient and plink name no host. paramiko ends at the first key that is refused.
    try bench.newKey("a", KeyBench.metadata(["near"], hosts: [near.line]))
    #expect(try bench.names().first == "any")
  }

  @Test func `through a forwarded socket a key signs files only where it may go further`() throws {
    let blob = try key("near", "sign:git")
    #expect(try refusal(fileData(), blob, []) == nil)
    #expect(try refusal(fileData(), blob, [near.bind(1, forwarding: true)])?.contains("beyond near") == true)
    #expect(try refusal(fileData(), blob, [other.bind(1, forwarding: true)]) != nil)
  }

  @Test func `a host's certificate counts for its names and its time, by a known authority`() throws {
    let authority = try TestHost("authority")
    let line = { (marker: String) in "\(marker) web \(authority.key.publicKey.line(comment: ""))" }
    let blob = try bench.newKey("key", KeyBench.metadata(["web"], ask: "never", hosts: [line("@cert-authority")]))
    let now = UInt64(Date().timeIntervalSince1970)
    let good = try TestHost("web", certifiedBy: authority, for: ["w*"], valid: now - 60..<now + 3600)
    #expect(try refusal(good.login(blob, session: 1), blob, [good.bind(1)]) == nil)
    for bad in [
      try TestHost("web", certifiedBy: authority, for: ["db"]), try TestHost("web", certifiedBy: authority, for: []),
      try TestHost("web", certifiedBy: authority, for: ["web"], valid: 0..<now - 60),
      try TestHost("web", certifiedBy: other, for: ["web"]), authority,
    ] { #expect(try refusal(bad.login(blob, session: 1), blob, [bad.bind(1)]) != nil) }
    let revoked = try bench.newKey(
      "revoked", KeyBench.metadata(["web"], ask: "never", hosts: [line("@cert-authority"), line("@revoked")]))
    #expect(try refusal(good.login(revoked, session: 1), revoked, [good.bind(1)]) != nil)
  }

  @Test func `a binding whose host key cannot be verified stops only keys with rules`() throws {
    let (bound, free) = (try key("near"), try bench.newKey("free", KeyBench.metadata(ask: "never")))
    let binding = SessionBinding(
      hostKey: try wire { try $0.put("ssh-mldsa-65") }, sessionID: [UInt8](repeating: 1, count: 32), signature: [1],
      isForwarding: false)
    #expect(try refusal(near.login(free, session: 1, namesHost: false), free, [binding]) == nil)
    #expect(try refusal(near.login(bound, session: 1, namesHost: false), bound, [binding]) != nil)
    #expect(try bench.names([binding]) == ["free"])
  }

  @Test func `17 bindings, and an id of a session that is too long, are refused for any key`() throws {
    let blob = try bench.newKey("free", KeyBench.metadata(ask: "never"))
    let bindings = try (0..<17).map { try near.bind($0, forwarding: true) }
    #expect(try refusal(fileData(), blob, bindings) != nil)
    #expect(try refusal(fileData(), blob, Array(bindings.prefix(16))) == nil)
    #expect(kind { _ = try bench.list(bindings) } == .refused)
    let session = [UInt8](repeating: 0, count: 129)
    let long = SessionBinding(
      hostKey: near.blob, sessionID: session, signature: try near.key.sign(session), isForwarding: true)
    #expect(try refusal(fileData(), blob, [long]) != nil)
  }

  @Test(.tags(.campaign), .wholeRun) func `no forged binding gets a signature`() throws {
    let blob = try key("near", "near>far")
    let (hop, end) = (try near.bind(1, forwarding: true), try far.bind(2))
    let data = try far.login(blob, session: 2)
    #expect(try refusal(data, blob, [hop, end]) == nil)
    for number in 0..<Campaign.size(short: 1_000, long: 10_000) {
      let forged: [SessionBinding]
      switch number % 7 {
      case 0: forged = [hop, end.with(signature: end.signature.flipped(number / 7 % (end.signature.count * 8)))]
      case 1: forged = [hop, end.with(session: end.sessionID.flipped(number / 7 % 256))]
      case 2: forged = [hop, end.with(hostKey: end.hostKey.flipped(number / 7 % (end.hostKey.count * 8)))]
      case 3: forged = [hop.with(signature: hop.signature.flipped(number / 7 % (hop.signature.count * 8))), end]
      case 4: forged = [[end, hop], [end], [hop], [hop, end, hop], [end, end.with(hostKey: near.blob)]][number / 7 % 5]
      case 5: forged = [hop.with(hostKey: other.blob), end]
      default: forged = [try other.bind(1, forwarding: true).with(hostKey: near.blob), end]
      }
      #expect(try refusal(data, blob, forged) != nil, "\(number)")
    }
  }
}

extension SessionBinding {
  fileprivate func with(hostKey: [UInt8]? = nil, session: [UInt8]? = nil, signature: [UInt8]? = nil) -> SessionBinding {
    SessionBinding(
      hostKey: hostKey ?? self.hostKey, sessionID: session ?? sessionID, signature: signature ?? self.signature,
      isForwarding: isForwarding)
  }
}

extension [UInt8] {
  fileprivate func flipped(_ bit: Int) -> [UInt8] {
    var copy = self
    copy[bit / 8] ^= 1 << UInt8(bit % 8)
    return copy
  }
}
