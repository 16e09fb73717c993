internal import CofferKeys
internal import CofferPlatform
internal import CofferVault
internal import FoundationEssentials

/// A key that may be used, as a list names it: itself or a certificate for it.
struct HeldKey: Sendable {
  enum Source: Sendable {
    case item(VaultItem)
    case loaded(LoadedKey)
  }

  /// The key or the certificate, as SSH sends it; of an age identity, its recipient's text.
  let blob: [UInt8]
  /// The key alone.
  let key: [UInt8]
  let comment: String
  let isAge: Bool
  let expires: Date?
  let source: Source
  /// An error for rules that cannot be read: the key is not used.
  let rules: Result<KeyRules, StoreError>

  var isExpired: Bool { expires.map { $0 <= Date() } ?? false }
  var item: VaultItem? { if case .item(let item) = source { item } else { nil } }

  private var readRules: KeyRules? { if case .success(let rules) = rules { rules } else { nil } }

  func isShown(to route: Route) -> Bool { !isAge && readRules?.shows(to: route) ?? false }
  /// Whether it is for that way, and not for any. Without a way, those for any: a login by a bound one is refused, and some
  /// clients then try no other key.
  func isFirst(for route: Route) -> Bool { readRules.map { $0.isBound != route.servers.isEmpty } ?? false }
}

/// The keys of a vault, read again after each of its commits, and those that `ssh-add` brought.
struct KeyTable: Sendable {
  /// The most of a vault: their listing is answered in 5 ms, and servers take a handful of tries.
  static let mostKeys = 256
  /// The most that `ssh-add` brings. Each takes up to 16 KiB of guarded memory.
  static let mostLoaded = 64
  static let certificateField = "certificate"

  private var ofVault: [HeldKey] = []
  private var version: (VaultID, UInt64)?
  private var hidden: Set<[UInt8]> = []
  private var loaded: [LoadedKey] = []

  /// Whether the vault has a key, hidden or not.
  var hasVaultKeys: Bool { !ofVault.isEmpty }
  var isFull: Bool { ofVault.count { $0.blob == $0.key } >= Self.mostKeys }
  /// A key of the vault that `ssh-add` brings too keeps the rules of the vault.
  var all: [HeldKey] {
    let shown = ofVault.filter { !hidden.contains($0.blob) && !$0.isExpired }
    let blobs = Set(shown.map(\.blob))
    return shown + loaded.filter { !blobs.contains($0.blob) }.map(\.held)
  }
  subscript(blob: [UInt8]) -> HeldKey? {
    ofVault.first { $0.blob == blob && !hidden.contains(blob) } ?? loaded.first { $0.blob == blob }?.held
  }
  /// The items with a public half, hidden or not.
  func items(of half: [UInt8]) -> [HeldKey] { ofVault.filter { $0.blob == half } }
  func key(of name: ItemName) -> HeldKey? { ofVault.first { $0.item?.name == name } }

  mutating func lapse(now: Duration) { loaded.removeAll { $0.ends.map { $0 <= now } ?? false } }

  /// - Throws: the errors of reading the vault.
  mutating func refresh(from vault: borrowing UnlockedVault, now: Duration) throws(StoreError) {
    lapse(now: now)
    let (id, generation) = (vault.id, try vault.generation())
    if let version, version == (id, generation) { return }
    var query = ItemQuery()
    query.attributes = [ItemQuery.Attribute(ItemMetadata.use, ItemMetadata.useOnly)]
    query.attributeNames = [ItemMetadata.usePublic]
    let found = try vault.find(query)
    (ofVault, version) = ([], nil)
    // Any program can store items that are no keys: they hide none.
    for position in 0..<found.count where !isFull { ofVault += try Self.keys(of: found[position], in: vault) }
    version = (id, generation)
  }

  /// A key, and its certificate. None for a public half that cannot be read, as of a newer version's type: nobody could name it.
  private static func keys(of item: VaultItem, in vault: borrowing UnlockedVault) throws(StoreError) -> [HeldKey] {
    guard item.metadata.isWithheld, let line = item.metadata.attributes[ItemMetadata.usePublic] else { return [] }
    let (blob, isAge): ([UInt8], Bool)
    do throws(StoreError) {
      isAge = line.isRecipient
      blob = isAge ? Array(try AgeRecipient(text: line).text.utf8) : try SSHPublicKey(line: line).blob
    } catch { return [] }
    let rules = Result { () throws(StoreError) in try KeyRules(item.metadata) }
    let held = { (listed: [UInt8], expires: Date?) in
      HeldKey(
        blob: listed, key: blob, comment: item.name.description, isAge: isAge,
        expires: [expires, item.metadata.expires].compactMap(\.self).min(), source: .item(item), rules: rules)
    }
    guard !isAge, let (certificate, expires) = try certificate(of: item.name, for: blob, in: vault) else {
      return [held(blob, nil)]
    }
    return [held(blob, nil), held(certificate, expires)]
  }

  /// Nil also for a field that is withheld, expired, or no certificate of the key, which is of use without it.
  private static func certificate(
    of name: ItemName, for key: [UInt8], in vault: borrowing UnlockedVault
  ) throws(StoreError) -> (blob: [UInt8], expires: Date?)? {
    do throws(StoreError) {
      guard let form = try vault.get(name.field(named: certificateField)) else { return nil }
      let text = form.bytes.withUnsafeBytes { String(decoding: $0.prefix { $0 != 0x0A }, as: UTF8.self) }
      let certificate = try SSHCertificate(line: text)
      return certificate.key.blob == key && certificate.kind == .user ? (certificate.blob, form.metadata.expires) : nil
    } catch {
      switch error.kind {
      case .expired, .clockBehind, .undecodable, .unsupported, .refused: return nil
      default: throw error
      }
    }
  }

  /// Adds a key that `ssh-add` sent, in place of the same one.
  mutating func load(_ key: LoadedKey) throws(StoreError) {
    loaded.removeAll { $0.blob == key.blob }
    guard loaded.count < Self.mostLoaded else {
      throw StoreError(
        .unsupported, "the agent holds \(Self.mostLoaded) keys of ssh-add, its most",
        cure: "remove one with ssh-add -d, or keep it")
    }
    loaded.append(key)
  }

  /// Removes a key of `ssh-add`'s or hides one of the vault's; nil for all. Identities of age stay: `ssh-add` does not know them.
  ///
  /// - Returns: the number of keys that are gone from the list.
  mutating func drop(_ blob: [UInt8]?) -> Int {
    let before = all.count { !$0.isAge }
    loaded.removeAll { blob == nil || $0.blob == blob }
    for key in ofVault where !key.isAge && (blob == nil || key.blob == blob) { hidden.insert(key.blob) }
    return before - all.count { !$0.isAge }
  }

  mutating func show() { hidden = [] }
}
