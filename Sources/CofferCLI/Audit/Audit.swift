internal import CofferFormats
internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

/// The findings of `coffer vault audit`. Of a value it keeps only a tag, to recognize it again.
struct Audit: ~Copyable {
  /// The most pressing first.
  enum Kind: String, Encodable, CaseIterable { case weak, reused, expired, seen, expiring, old }

  struct AuditFinding: Encodable {
    let kind: Kind
    let service: String, account: String
    let what: String
    /// The date of a finding about one.
    let moment: Date?

    func words(_ time: LocalTime) -> String {
      guard let moment else { return what }
      return switch kind {
      case .expiring: time.ahead(moment)
      case .expired: time.ago(moment)
      case .seen: "by a member removed \(time.day(moment))"
      default: "since \(time.day(moment))"
      }
    }

    private enum CodingKeys: String, CodingKey { case kind, service, account, what }
  }

  /// Bytes of the largest password, of one line: anything longer is a file. Most services refuse longer passwords.
  private static let longestPassword = 256
  private static let digest = SecretDigest.sha256

  let now: Date
  /// A value set before this is old.
  let oldest: Date
  /// A value that expires before this does so soon.
  let soonest: Date
  /// The time of the last removal of a member, who could read all older values; nil without one.
  let removal: Date?
  private let key: SecretBytes
  private var users: [[UInt8]: [ItemName]] = [:]
  private(set) var findings: [AuditFinding] = []
  private(set) var passwords = 0

  init(now: Date, oldest: Date, soonest: Date, removal: Date?) throws {
    (self.now, self.oldest, self.soonest, self.removal) = (now, oldest, soonest, removal)
    key = try SecretBytes.random(Self.digest.count)
  }

  /// Checks the dates of `item`, and returns whether to check its value: an expired one is not available.
  mutating func look(at item: VaultItem) -> Bool {
    if let expires = item.metadata.expires, expires <= now {
      add(.expired, item.name, "since \(Moment.text(expires))", expires)
      return false
    }
    if let expires = item.metadata.expires, expires < soonest { add(.expiring, item.name, "at \(Moment.text(expires))", expires) }
    if let removal, item.written <= removal { add(.seen, item.name, "by a member removed \(Moment.text(removal))", removal) }
    if item.written < oldest { add(.old, item.name, "since \(Moment.text(item.written))", item.written) }
    return true
  }

  mutating func look(at value: borrowing SecretBytes, of item: VaultItem) throws {
    guard !LoginItems.isToken(item), Self.isPassword(value, item.metadata.contentType) else { return }
    passwords += 1
    let strength = try PasswordStrength(value, of: [item.name.service, item.name.account])
    if strength.bits < PasswordStrength.least { add(.weak, item.name, "about \(Int(strength.bits)) bits: \(strength.reason)") }
    let tag = try value.withUnsafeBytes { try Self.digest.authenticate($0, with: key) }
    users[tag.withUnsafeBytes { Array($0) }, default: []].append(item.name)
  }

  /// The most pressing first.
  consuming func finish() -> [AuditFinding] {
    for names in users.values where names.count > 1 {
      for name in names {
        let others = names.filter { $0 != name }.sorted()
        let more = others.count > 3 ? " and \(others.count - 3) more" : ""
        add(.reused, name, "the same as \(others.prefix(3).map { $0.description }.joined(separator: ", "))\(more)")
      }
    }
    let order = Dictionary(uniqueKeysWithValues: Kind.allCases.enumerated().map { ($1, $0) })
    return findings.sorted { left, right in
      let (a, b) = (order[left.kind] ?? 0, order[right.kind] ?? 0)
      return a == b ? (left.service, left.account) < (right.service, right.account) : a < b
    }
  }

  private mutating func add(_ kind: Kind, _ name: ItemName, _ what: String, _ moment: Date? = nil) {
    findings.append(AuditFinding(kind: kind, service: name.service, account: name.account, what: what, moment: moment))
  }

  /// Whether a person may have chosen the value: a line of text that is no service's token. Programs make key files,
  /// certificates, JSON and tokens.
  static func isPassword(_ value: borrowing SecretBytes, _ type: String) -> Bool {
    let plain = type.isEmpty || type.lowercased().hasPrefix("text/plain")
    return plain
      && value.withUnsafeBytes { raw in
        raw.count <= longestPassword && !raw.contains { $0 < 0x20 } && UTF8Validity.isValid(raw) && !TokenForm.begins(raw)
      }
  }
}
