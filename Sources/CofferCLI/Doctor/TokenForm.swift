internal import CofferFormats
internal import CofferTerminal

/// The look of secrets that programs made.
enum TokenForm {
  /// Beginnings of tokens of well-known services, documented by them for scanners.
  static let beginnings: [(String, String)] = [
    ("ghp_", "a GitHub token"), ("gho_", "a GitHub token"), ("ghs_", "a GitHub token"), ("ghr_", "a GitHub token"),
    ("github_pat_", "a GitHub token"), ("glpat-", "a GitLab token"), ("xoxb-", "a Slack token"), ("xoxp-", "a Slack token"),
    ("xapp-", "a Slack token"), ("sk_live_", "a Stripe key"), ("rk_live_", "a Stripe key"), ("AKIA", "an AWS access key"),
    ("AIza", "a Google API key"), ("npm_", "an npm token"), ("dckr_pat_", "a Docker token"), ("PVKEY1-", "a key file of a vault"),
    ("PVID1-", "an identity of a vault"),
    ("-----BEGIN", "a private key"), ("age-secret-key-1", "an age identity"), ("hvs.", "a HashiCorp Vault token"),
  ]

  static func begins(_ text: UnsafeRawBufferPointer) -> Bool {
    beginnings.contains { beginning, _ in
      text.count >= 16 && zip(text, beginning.utf8).allSatisfy { $0 == $1 }
    } || text.starts(with: "eyJ".utf8) && text.count { $0 == UInt8(ascii: ".") } == 2
  }
}
