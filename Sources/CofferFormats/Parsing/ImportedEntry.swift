package import CofferStorage
internal import CofferTerminal
internal import CofferVault
package import FoundationEssentials

/// An entry of another program. ``EntryItems`` names it and makes it an item of the vault.
package struct ImportedEntry {
  package struct Field {
    package let name: String
    package let secret: SecretForm
    /// A seed whose codes Coffer cannot make is reported.
    package var isOtherSeed = false
    package private(set) var isFile = false

    package init(name: String, secret: SecretForm, isOtherSeed: Bool = false, isFile: Bool = false) {
      (self.name, self.secret, self.isOtherSeed, self.isFile) = (name, secret, isOtherSeed, isFile)
    }
  }

  package var title = ""
  package var user = ""
  /// The first makes the item's service.
  package var urls: [String] = []
  /// If the format defines it better than an address: Coffer's helper for the program looks for it.
  package var service: String?
  package var folder = ""
  package var tags: [String] = []
  /// The main secret: a password, the text of a note, the number of a card, a key.
  package var value: SecretForm?
  package var fields: [Field] = []
  /// In the order of the file, each with the date that the program gives.
  package private(set) var previous: [(password: SecretForm, date: Date?)] = []
  /// In the order of the file.
  package var attributes: [(name: String, value: String)] = []
  package private(set) var oneTime: OneTimeSeed?
  package var created: Date?, modified: Date?, expires: Date?
  package private(set) var unreadDates: [String] = []
  /// The parts to cut out of the file after the import; none if unknown.
  package var cuts: [Cut] = []

  package init() {}

  package struct Cut {
    package let range: Range<Int>
    package var stub = ""

    package init(range: Range<Int>, stub: String = "") { (self.range, self.stub) = (range, stub) }
  }

  package mutating func add(_ secret: SecretForm?, as name: String) {
    guard let secret, secret.bytes.count > 0 else { return }
    fields.append(Field(name: name, secret: secret))
  }

  mutating func add(previous password: SecretForm?, _ date: Date?) {
    guard let password else { return }
    previous.append((password, date))
  }

  /// Takes a seed of one-time passwords. The first that can make codes becomes the item's, every other one the field `name`.
  mutating func takeSeed(_ seed: OneTimeSeed?, as name: String) throws {
    guard let seed else { return }
    guard try seed.makesCodes() else { return addOtherSeed(seed.secret, as: name) }
    if oneTime == nil { oneTime = seed }
    if let first = oneTime, !first.isSame(as: seed) { add(seed.secret, as: name) }
  }

  mutating func addOtherSeed(_ secret: SecretForm, as name: String) {
    fields.append(Field(name: name, secret: secret, isOtherSeed: true))
  }

  /// Nil for none. An unreadable one is noted under `name`.
  package mutating func date(_ name: String, _ text: String, read: (String) -> Date? = Moment.parse) -> Date? {
    guard !text.isEmpty else { return nil }
    let date = read(text)
    if date == nil { unreadDates.append(name) }
    return date
  }

  /// Attributes are no secrets; empty ones are left out.
  package mutating func say(_ value: String, as name: String) {
    guard !value.isEmpty else { return }
    attributes.append((name, value))
  }

  package var label: String { title.isEmpty ? service ?? urls.first ?? user : title }

  /// Whether it is worth an item without any secret: a login or an identity.
  package var isKept = false

  package var hasSecret: Bool {
    value.map { $0.bytes.count > 0 } ?? false || !fields.isEmpty || !previous.isEmpty || oneTime != nil
  }
}

/// Every part that an import leaves out is reported.
package struct LeftOut: Encodable, Equatable {
  package let entry: String
  /// In the same few words for all of a kind, to count them.
  package let reason: String
  package let count: Int
  /// Whether the rest of the entry is imported.
  package let isPart: Bool

  private enum CodingKeys: CodingKey { case entry, reason, count }

  /// - Parameter part: the part of the entry, if the rest is imported.
  package init(_ entry: String, part: String = "", _ reason: String, count: Int = 1) {
    (self.entry, self.reason, self.count) = (part.isEmpty ? entry : "\(entry): \(part)", reason, count)
    isPart = !part.isEmpty || [Self.own, Self.passkey, Self.previousPasswords].contains(reason)
  }

  static let inKeyring = "its token is in the system's keyring, not in this file"
  static let inCredentialHelper = "kept by a credential helper, not in this file"

  /// Whether no secret stays in the file.
  package var isElsewhere: Bool { [Self.inKeyring, Self.inCredentialHelper, Self.empty].contains(reason) }

  package static let login = "logins and what ends with a session: log in again"
  package static let own = "attributes of Coffer's own"
  package static let locked = "locked: unlock it in its own program"
  static let inTrash = "in the trash"
  package static let empty = "without a secret"
  static let attachment = "attachments that are not whole in the file"
  static let manyAttachments = "attachments beyond 64 MiB in all"
  package static let link = "links to other fields"
  package static let previousPasswords = "previous passwords beyond those that an item keeps"
  static let passkey = "passkeys"
  package static let otherCodes = "one-time code of an unknown kind; its seed is kept as a field"
  package static let unreadDate = "dates that cannot be read"
  static let unknownType = "of a type unknown to this version"
  package static let tooLarge = "larger than a value may be"
  package static let tooMany = "fields beyond the \(VaultItem.mostFields) that an item may have"
}

package struct ImportedEntries {
  package var entries: [ImportedEntry] = []
  package var leftOut: [LeftOut] = []
  /// The bytes of attached files. Many entries may name one file, and the vault stores it for each.
  private var attached = 0
  private static let mostAttached = 64 << 20

  package init(entries: [ImportedEntry] = [], leftOut: [LeftOut] = []) { (self.entries, self.leftOut) = (entries, leftOut) }

  package mutating func add(_ entry: ImportedEntry) { entries.append(entry) }

  package mutating func leaveOut(_ entry: String, part: String = "", _ reason: String, count: Int = 1) {
    guard count > 0 else { return }
    leftOut.append(LeftOut(entry, part: part, reason, count: count))
  }

  /// The file becomes a field of `entry`, or is left out.
  ///
  /// - Parameter read: nil for a missing or damaged file. Throws `.tooLarge` with its argument as the limit.
  mutating func attach(_ name: String, to entry: inout ImportedEntry, _ read: (Int) throws -> SecretForm?) throws {
    guard attached < Self.mostAttached else { return leaveOut(entry.label, part: name, LeftOut.manyAttachments) }
    do {
      guard let file = try read(VaultItem.largestValue) else { return leaveOut(entry.label, part: name, LeftOut.attachment) }
      attached += file.bytes.count
      entry.fields.append(ImportedEntry.Field(name: name, secret: file, isFile: true))
    } catch let error as StoreError where error.kind == .tooLarge(limit: VaultItem.largestValue) {
      leaveOut(entry.label, part: name, LeftOut.tooLarge)
    }
  }
}

extension SecretForm {
  package static func copy(_ bytes: UnsafeRawBufferPointer.SubSequence) throws -> SecretForm? {
    guard !bytes.isEmpty else { return nil }
    return SecretForm(try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: bytes)))
  }

  /// Once known to be no secret.
  var plainText: String { bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
}
