import CofferClient
import CofferMemory
import CofferPlatform
import CofferStorage
import CofferVault

#if canImport(FuzzShared)
  import FuzzShared
#endif

@testable import CofferAgent
@testable import CofferKeys

/// What the agent reads beside a key: its constraints and rules, known hosts, certificates to sign, and rows of the log of uses.
enum KeyringParsers {
  static let all = [constraints, certificate, rules, host, row]

  private static let hostLine = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIRWm9yYK+1qeL7gCrfR1F3PQoEObLdqbub4RZsIrbaK"

  /// The fields of a request to add a key.
  private static let key = Result {
    let key = try SSHPrivateKey.generate(comment: "")
    return key.fields.withUnsafeBytes { Array($0) } + [0, 0, 0, 0]
  }

  /// The constraints of a key that `ssh-add` sends.
  static let constraints = Parser(
    "ssh-constraints", longest: 512, words: ["restrict-destination-v00@openssh.com", "ssh-ed25519", "\u{1}", "\u{2}"]
  ) { input in
    let loaded = try LoadedKey(VaultParsers.secret(key.get() + input), isConstrained: true, now: .zero)
    let rules = try loaded.held.rules.get()
    try promise(
      input.isEmpty || loaded.ends != nil || rules.ask == .always || rules.isBound, "a constraint of a key has no effect")
    try promise(rules.destinations.isEmpty || rules.isBound, "a key with destinations is for all hosts")
  }

  /// The bytes of a certificate that an authority signs, whose blob is its type's name.
  static let certificate = Parser(
    "ssh-certificate-body", longest: 512, words: ["ssh-ed25519-cert-v01@openssh.com", "ssh-rsa-cert-v01@openssh.com"]
  ) { input in
    var writer = try SSHWriter()
    try writer.put("ssh-ed25519")
    let authority = writer.bytes()
    guard case .certificate = input.lent({ SigningPurpose($0, by: authority) }) else {
      throw StoreError.malformedKey("no certificate")
    }
    try promise(input.suffix(authority.count).elementsEqual(authority), "a certificate is by another authority")
  }

  /// The rules of a key, a line each, that knows the hosts near and far.
  static let rules = Parser("key-rules", longest: 256, words: ["near", "far", "sign:", "age", "ca", "other", "@", ">"]) { input in
    let text = String(decoding: input, as: UTF8.self)
    let rules = try keyRules(text, ["near \(hostLine)", "far \(hostLine)"])
    let hops = rules.destinations.flatMap { [$0.from, $0.to].compactMap(\.self) }
    let areKnown = hops.allSatisfy { ["near", "far"].contains($0.host) && $0.keys.count == 1 }
    try promise(rules.isBound && areKnown && !rules.destinations.contains { $0.user == "" }, "a rule is for an unknown host")
  }

  /// A known host of a key whose only rule names the host near.
  static let host = Parser("key-host", longest: 512, words: ["near ", "@cert-authority ", "@revoked ", hostLine]) { input in
    let rules = try keyRules("near", [String(decoding: input, as: UTF8.self)])
    try promise(rules.destinations.map(\.to.keys.count) == [1], "a line is other than one key")
  }

  private static func keyRules(_ text: String, _ hosts: [String]) throws(StoreError) -> KeyRules {
    var metadata = ItemMetadata()
    metadata.attributes[ItemMetadata.useFor] = text
    for (number, line) in hosts.enumerated() { metadata.attributes["\(ItemMetadata.useHost)\(number)"] = line }
    let rules = try KeyRules(metadata)
    do throws(StoreError) { try rules.check(isAge: false) } catch { try rules.check(isAge: true) }
    return rules
  }

  /// The opened body of a row of the log of uses; and the same bytes as a sealed row, which they are not.
  static let row = Parser("uses-row", longest: 1024) { input in
    let secret = try VaultParsers.secret([UInt8](repeating: 1, count: 32))
    let found = input.lent { UsesChain().open($0, in: VaultID(bytes: Array(0..<16)), secret) }
    switch found {
    case .row, .newer: try promise(false, "a row opens that nobody has sealed")
    case .torn, .wrong: break
    }
    let row = try input.lent { (bytes) throws(StoreError) in
      var fields = FrameReader(bytes)
      let row = try fields.read(UseRow.self)
      try fields.end()
      return row
    }
    var writer = try FrameWriter(answer: .done)
    try row.put(in: &writer)
    try promise(writer.withFrame { $0.count } == input.count + 6, "a row has another encoding")
  }
}
