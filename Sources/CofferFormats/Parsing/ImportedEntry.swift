internal import Coffer
package import CofferStorage
internal import CofferTerminal
internal import CofferVault
package import FoundationEssentials

/// An entry of another program, before it is an item of the vault: ``EntryItems`` gives it a name.
package struct ImportedEntry {
  /// A further secret of the entry.
  package struct Field {
    package let name: String
    package let secret: SecretForm
    /// Whether it is a seed of one-time codes that cannot be made here, which is told.
    package var isOtherSeed = false

    package init(name: String, secret: SecretForm, isOtherSeed: Bool = false) {
      (self.name, self.secret, self.isOtherSeed) = (name, secret, isOtherSeed)
    }
  }

  /// What its owner calls it.
  package var title = ""
  /// The user name.
  package var user = ""
  /// The addresses that it is for, the first of which gives the item its service.
  package var urls: [String] = []
  /// The service, where the format says more than an address: what Coffer's own helper for the same program looks for.
  package var service: String?
  package var folder = ""
  package var tags: [String] = []
  /// The secret that the entry is about: its password, the text of a note, the number of a card, a key.
  package var value: SecretForm?
  package var fields: [Field] = []
  /// Its description, in the order of the file.
  package var attributes: [(name: String, value: String)] = []
  /// What makes the item's one-time codes.
  package private(set) var oneTime: OneTimeSeed?
  package var created: Date?, modified: Date?, expires: Date?
  /// Which dates the program has that cannot be read.
  package private(set) var unreadDates: [String] = []
  /// The parts to cut out of the file once the entry is elsewhere; none if they are unknown.
  package var cuts: [Cut] = []

  package init() {}

  /// Bytes of the file, and their replacement.
  package struct Cut {
    package let range: Range<Int>
    package var stub = ""

    package init(range: Range<Int>, stub: String = "") {
      (self.range, self.stub) = (range, stub)
    }
  }

  /// Adds a secret, where there is one.
  package mutating func add(_ secret: SecretForm?, as name: String) {
    guard let secret, secret.bytes.count > 0 else { return }
    fields.append(Field(name: name, secret: secret))
  }

  /// Takes a seed of one-time passwords, where there is one: the first whose codes can be made makes the item's, and every other
  /// one becomes the field `name`.
  mutating func takeSeed(_ seed: OneTimeSeed?, as name: String) throws {
    guard let seed else { return }
    guard try seed.makesCodes() else { return addOtherSeed(seed.secret, as: name) }
    if oneTime == nil { oneTime = seed }
    if let first = oneTime, !first.isSame(as: seed) { add(seed.secret, as: name) }
  }

  /// Adds a seed of one-time codes that cannot be made here.
  mutating func addOtherSeed(_ secret: SecretForm, as name: String) {
    fields.append(Field(name: name, secret: secret, isOtherSeed: true))
  }

  /// The date that stands in `text`; nil where there is none. One that cannot be read is told by `name`.
  package mutating func date(_ name: String, _ text: String, read: (String) -> Date? = Moment.parse) -> Date? {
    guard !text.isEmpty else { return nil }
    let date = read(text)
    if date == nil { unreadDates.append(name) }
    return date
  }

  /// Adds a part that is no secret, unless it is empty.
  package mutating func say(_ value: String, as name: String) {
    guard !value.isEmpty else { return }
    attributes.append((name, value))
  }

  /// Its name for a person.
  package var label: String { title.isEmpty ? service ?? urls.first ?? user : title }

  package var hasSecret: Bool { value.map { $0.bytes.count > 0 } ?? false || !fields.isEmpty || oneTime != nil }
}

/// Something that an import does not take over. It is always told.
package struct LeftOut: Encodable, Equatable {
  /// The entry, or a part of it.
  package let entry: String
  /// Why, in a few words that are the same for all of a kind, so that they can be counted.
  package let reason: String
  package let count: Int

  /// - Parameter part: which part of the entry, where the rest is imported.
  package init(_ entry: String, part: String = "", _ reason: String, count: Int = 1) {
    self.entry = part.isEmpty ? entry : "\(entry): \(part)"
    self.reason = reason
    self.count = count
  }

  static let inKeyring = "its token is in the system's keyring, not in this file"
  static let inCredentialHelper = "kept by a credential helper, not in this file"

  /// Whether there is no secret in the file that could stay there.
  package var isElsewhere: Bool { [Self.inKeyring, Self.inCredentialHelper, Self.empty].contains(reason) }

  package static let login = "logins and what ends with a session: log in again"
  package static let own = "attributes of Coffer's own"
  package static let locked = "locked: unlock it in its own program"
  static let inTrash = "in the trash"
  package static let empty = "without a secret"
  static let attachment = "attachments"
  package static let link = "links to other fields"
  static let formerPasswords = "former passwords"
  static let passkey = "passkeys"
  package static let otherCodes = "one-time codes of a kind that this version does not make: the seed is a field"
  package static let unreadDate = "dates that cannot be read"
  static let unknownType = "of a type that this version does not know"
  package static let tooLarge = "larger than a value may be"
  package static let tooMany = "fields beyond the \(VaultItem.mostFields) that an item may have"
}

/// The findings of a format's parser.
package struct ImportedEntries {
  package var entries: [ImportedEntry] = []
  package var leftOut: [LeftOut] = []

  package init(entries: [ImportedEntry] = [], leftOut: [LeftOut] = []) {
    (self.entries, self.leftOut) = (entries, leftOut)
  }

  package mutating func add(_ entry: ImportedEntry) { entries.append(entry) }

  package mutating func leaveOut(_ entry: String, part: String = "", _ reason: String, count: Int = 1) {
    guard count > 0 else { return }
    leftOut.append(LeftOut(entry, part: part, reason, count: count))
  }
}

extension SecretForm {
  /// A copy of bytes that lie in guarded memory; nil where there are none.
  package static func copy(_ bytes: UnsafeRawBufferPointer.SubSequence) throws -> SecretForm? {
    guard !bytes.isEmpty else { return nil }
    return SecretForm(try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: bytes)))
  }

  /// The bytes as text, for what turned out to be no secret.
  var plainText: String { bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
}
