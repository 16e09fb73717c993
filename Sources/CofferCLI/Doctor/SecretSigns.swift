internal import Coffer
internal import CofferPlatform

/// What gives a secret away that lies among preferences. A sign is no proof: it is said with its reason, never with the value.
enum SecretSigns {
  /// How tokens of well-known services begin, from their own documentation, so that scanners find them.
  private static let beginnings: [(String, String)] = [
    ("ghp_", "a GitHub token"), ("gho_", "a GitHub token"), ("ghs_", "a GitHub token"), ("ghr_", "a GitHub token"),
    ("github_pat_", "a GitHub token"), ("glpat-", "a GitLab token"), ("xoxb-", "a Slack token"), ("xoxp-", "a Slack token"),
    ("xapp-", "a Slack token"), ("sk_live_", "a Stripe key"), ("rk_live_", "a Stripe key"), ("AKIA", "an AWS access key"),
    ("AIza", "a Google API key"), ("npm_", "an npm token"), ("dckr_pat_", "a Docker token"), ("PVKEY1-", "a key file of a vault"),
    ("PVID1-", "an identity of a vault"),
    ("-----BEGIN", "a private key"), ("age-secret-key-1", "an age identity"), ("hvs.", "a HashiCorp Vault token"),
  ]
  /// Bits a character from which on text is no language: English has about 4.1 by this measure, in long texts, and base64 up to 6.
  private static let leastEntropy = 4.2
  private static let leastHexEntropy = 3.0

  /// Why `value`, under `key`, may be a secret; nil when nothing says so.
  static func reason(key: String, value: String) -> String? {
    guard value.utf8.count >= 6 else { return nil }
    let lowered = value.lowercased()
    for (beginning, what) in beginnings where lowered.hasPrefix(beginning.lowercased()) && value.utf8.count >= 16 {
      if beginning == "-----BEGIN", !value.contains("PRIVATE KEY") { continue }
      return "the value looks like \(what)"
    }
    if StoredName.looksLikeCredential(key), !isOrdinary(value) { return "the key's name says that it is a secret" }
    return isRandom(value) ? "the value looks random" : nil
  }

  /// Values that are no secrets under such names: a word such as `keychain`, a path, a flag, a number.
  private static func isOrdinary(_ value: String) -> Bool {
    value.contains("/") || value.contains(" ") || value.allSatisfy { $0.isLetter } || Double(value) != nil
      || Reference.isMeant(by: value)
  }

  /// Long, without spaces, and with every character about as frequent as any other.
  private static func isRandom(_ value: String) -> Bool {
    let bytes = Array(value.utf8)
    guard (24...4096).contains(bytes.count),
      !bytes.contains(where: { $0 <= 0x20 || $0 > 0x7E || $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: ".") })
    else { return isToken(value) }
    // A UUID names something and opens nothing.
    guard !isUUID(value) else { return false }
    let isHex = value.allSatisfy(\.isHexDigit)
    guard value.contains(where: \.isNumber), value.contains(where: \.isLetter) else { return false }
    return isHex ? bytes.count >= 32 && entropy(bytes) > leastHexEntropy : entropy(bytes) > leastEntropy
  }

  /// A JSON Web Token: three parts of base64url, the first of which begins with `{"`. Source: RFC 7519.
  private static func isToken(_ value: String) -> Bool {
    value.hasPrefix("eyJ") && value.split(separator: ".").count == 3 && !value.contains(" ")
  }

  private static func isUUID(_ value: String) -> Bool {
    value.utf8.count == 36 && value.split(separator: "-").map(\.utf8.count) == [8, 4, 4, 4, 12]
  }

  private static func entropy(_ bytes: [UInt8]) -> Double {
    var counts = [Int](repeating: 0, count: 256)
    for byte in bytes { counts[Int(byte)] += 1 }
    return counts.filter { $0 > 0 }.reduce(0) { sum, count in
      let share = Double(count) / Double(bytes.count)
      return sum - share * log2(share)
    }
  }
}
