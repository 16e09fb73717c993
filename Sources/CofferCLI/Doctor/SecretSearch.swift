internal import Coffer
internal import CofferDefaults
internal import CofferFormats
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import SystemPackage

/// Secrets that any reader of a file gets.
struct SecretSearch {
  let context: Context

  func findings(_ check: String) -> [Finding] {
    preferences().map { secret in
      let (key, domain) = (Printable.line(secret.name), secret.domain)
      var finding = Finding(
        check, .warning, "'\(key)' of domain '\(domain.name)': \(secret.reason)", place: domain.file.string,
        cure: "coffer set '\(key)' --secret --domain \(domain.name); then read it as a secret")
      finding.secrets = PlainSecrets(
        count: 1, noun: "value", owner: domain.name, canMove: secret.isSimple && domain.name != Settings.domain)
      return finding
    }
      + remnants().map { secret in
        let place = secret.file.map(\.string)
        return Finding(
          check, .warning, "a text that was removed from domain '\(secret.domain.name)' can still be read: \(secret.reason)",
          place: place, cure: "coffer doctor --fix, or rm the file if it is a copy that nobody needs")
      }
      + files().map { looked in
        let file = looked.file
        if let reason = looked.unseen {
          return Finding(
            check, .warning, "could not check whether \(file.owner) in the clear: \(reason)", place: file.path.string,
            cure: "look at the file by hand")
        }
        let cure = file.format == nil ? file.cure : "coffer doctor --fix; or \(file.cure)"
        var finding = Finding(check, .warning, "\(file.owner) in the clear", place: file.path.string, cure: cure)
        finding.secrets = PlainSecrets(
          count: looked.count, noun: file.noun, owner: String(file.program), canMove: file.format != nil)
        return finding
      }
  }

  func preferences() -> [PlainSecret] {
    inDomains { domain, values in
      values.sorted { $0.key < $1.key }.compactMap { key, form in
        Self.reason(Self.texts(key, form)).map { PlainSecret(domain: domain, name: key, form: form, reason: $0) }
      }
    }
  }

  /// Likely secrets in a domain's file that are in none of its values: the first in each file.
  func remnants() -> [PlainSecret] {
    var seen: Set<FilePath> = []
    return inDomains { domain, values in
      let current = Set(values.flatMap(Self.texts).flatMap { [$0.key, $0.text] }).union(values.keys)
      return try domain.remnants().compactMap { file, name, form in
        let lost = Self.texts(name, form).filter { !current.contains($0.text) }
        guard let reason = Self.reason(lost), seen.insert(file).inserted else { return nil }
        return PlainSecret(domain: domain, name: name, form: form, reason: reason, file: file)
      }
    }
  }

  /// Without unreadable domains, which the check of preferences reports.
  private func inDomains(_ look: (DefaultsDomain, [String: PlainForm]) throws -> [PlainSecret]) -> [PlainSecret] {
    do {
      return try DefaultsDomain.list(in: context.places.defaults).flatMap { domain -> [PlainSecret] in
        do { return try look(domain, context.domainAsItLies(domain.name).contents()) } catch { return [] }
      }
    } catch { return [] }
  }

  private static func reason(_ texts: [(key: String, text: String)]) -> String? {
    texts.lazy.compactMap(SecretSigns.reason).first
  }

  private static func texts(_ key: String, _ form: PlainForm) -> [(key: String, text: String)] {
    switch form {
    case .string(let text): [(key, text)]
    case .data(let bytes): String(validating: bytes, as: UTF8.self).map { [(key, $0)] } ?? []
    case .array(let items): items.flatMap { texts(key, $0) }
    case .dictionary(let items): items.sorted { $0.key < $1.key }.flatMap(texts)
    default: []
    }
  }

  /// A file of another program that keeps secrets in the clear, or may.
  struct Looked {
    let file: CredentialFile
    /// Why that cannot be told; nil if it does.
    let unseen: String?
    var count = 0
  }

  func files() -> [Looked] {
    guard let home else { return [] }
    let standard = CredentialFile.gitStandard(home: home, config: config(home))
    let named = namedByGit().filter { !standard.contains($0) }
    let git = standard + Set(named).sorted { $0.string < $1.string }
    return CredentialFile.known(home: home, config: config(home), git: git).compactMap { file in
      do {
        guard let text = try Self.text(file.path), case let count = file.secrets(in: text), count > 0 else { return nil }
        return Looked(file: file, unseen: nil, count: count)
      } catch { return Looked(file: file, unseen: SecretMove.reason(error)) }
    }
  }

  /// The `store` helpers that git asks.
  func gitStores(included: Bool) throws -> [GitStore] {
    guard let home else { return [] }
    let standard = CredentialFile.gitStandard(home: home, config: config(home))
    return try GitConfig.helpers(included: included).compactMap { GitStore($0, home: home, standard: standard) }
  }

  private func namedByGit() -> [FilePath] {
    // A git that does not answer names nothing. Its standard files are looked at all the same.
    do { return try gitStores(included: true).compactMap(\.files).flatMap { $0 } } catch { return [] }
  }

  var home: FilePath? { ProcessEnvironment.value("HOME").map { FilePath($0) } }

  private func config(_ home: FilePath) -> FilePath {
    context.places.home == nil ? context.places.defaults : home.appending(".config")
  }

  private static let largestFile = 1 << 20

  private static func text(_ path: FilePath) throws -> String? {
    guard let status = try FileStatus(at: path) else { return nil }
    // Opening a pipe might wait, and a device might have no end.
    guard status.isRegular else {
      throw StoreError(.denied, "it is not a regular file", place: path.string, cure: "find out who created it")
    }
    return String(decoding: try PlainFile.read(path.string, limit: largestFile), as: UTF8.self)
  }
}

struct PlainSecret {
  let domain: DefaultsDomain
  let name: String
  let form: PlainForm
  let reason: String
  /// The file with the remnant; nil for a value.
  var file: FilePath?

  /// Whether it is a value by itself, which can move as it is.
  var isSimple: Bool {
    switch form {
    case .string, .data: true
    default: false
    }
  }
}

/// A sign is no proof: it is reported with its reason, never with the value.
enum SecretSigns {
  /// Bits per character above which text is not language: long English texts have about 4.1 by this measure, base64 up to 6.
  private static let leastEntropy = 4.2
  private static let leastHexEntropy = 3.0

  /// Nil without a sign.
  static func reason(key: String, value: String) -> String? {
    guard value.utf8.count >= 6 else { return nil }
    let lowered = value.lowercased()
    for (beginning, what) in TokenForm.beginnings where lowered.hasPrefix(beginning.lowercased()) && value.utf8.count >= 16 {
      if beginning == "-----BEGIN", !value.contains("PRIVATE KEY") { continue }
      return "the value looks like \(what)"
    }
    if StoredName.looksLikeCredential(key), !isOrdinary(value) { return "the key's name suggests a secret" }
    return isRandom(value) ? "the value looks random" : nil
  }

  /// Values that are no secrets under such names: a word such as `keychain`, a path, a flag, a number.
  private static func isOrdinary(_ value: String) -> Bool {
    value.contains("/") || value.contains(" ") || value.allSatisfy { $0.isLetter } || Double(value) != nil
      || Reference.isMeant(by: value)
  }

  /// Long, without spaces, and with nearly equal frequencies of characters.
  private static func isRandom(_ value: String) -> Bool {
    let bytes = Array(value.utf8)
    guard (24...4096).contains(bytes.count),
      !bytes.contains(where: { $0 <= 0x20 || $0 > 0x7E || $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: ".") })
    else { return isToken(value) }
    // A UUID names something and opens nothing.
    guard value.utf8.count != 36 || value.split(separator: "-").map(\.utf8.count) != [8, 4, 4, 4, 12] else { return false }
    let isHex = value.allSatisfy(\.isHexDigit)
    guard value.contains(where: \.isNumber), value.contains(where: \.isLetter) else { return false }
    return isHex ? bytes.count >= 32 && entropy(bytes) > leastHexEntropy : entropy(bytes) > leastEntropy
  }

  /// A JSON Web Token: three parts of base64url, the first of which begins with `{"`. Source: RFC 7519.
  private static func isToken(_ value: String) -> Bool {
    value.hasPrefix("eyJ") && value.split(separator: ".").count == 3 && !value.contains(" ")
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
