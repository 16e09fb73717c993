internal import ArgumentParser
internal import Coffer
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal

struct RouterOptions: ParsableArguments {
  @Option(help: ArgumentHelp("The program whose keys are meant (also COFFER_DOMAIN; otherwise 'coffer').", valueName: "domain"))
  var domain: String?

  static let standard = "coffer"

  var name: String { domain ?? ProcessEnvironment.value("COFFER_DOMAIN") ?? Self.standard }
}

/// The router without declared keys: the place of a stored value decides its store.
///
/// A key found in the domain's property list is plain, and the vault is not touched. Otherwise the vault is asked, under
/// service = domain and account = key.
final class ShellRouter {
  let domain: String
  /// Leaves no trace.
  let plain: DefaultsStore
  private var openedPlain: DefaultsStore?
  private let context: Context
  private var openedVault: (any DecidingStore)??

  convenience init(_ options: RouterOptions, _ context: Context) throws { try self.init(domain: options.name, context) }

  init(domain name: String, _ context: Context) throws {
    domain = name
    guard domain != Settings.domain else {
      throw Failure.usage(
        "the domain '\(domain)' holds the settings of coffer itself, not keys",
        try: "coffer defaults write \(domain) NAME VALUE")
    }
    plain = try context.domain(domain)
    self.context = context
  }

  /// The vault, unlocked as usual at the first call; nil if there is none.
  func vault() throws -> (any DecidingStore)? {
    if let openedVault { return openedVault }
    let vault = try context.secrets(service: domain)
    openedVault = .some(vault)
    return vault
  }

  /// Known without a question.
  enum Knowledge {
    case there(isItem: Bool)
    case absent
    case unknown(any Error)
  }

  /// Looks for `key` in the vault, if that opens without a question. With `andItems` an item of that name counts too.
  func lookUp(_ key: String, andItems: Bool = false) -> Knowledge {
    let questions = context.questions
    context.questions = .nowhere
    defer { context.questions = questions }
    do {
      guard let vault = try vault() else { return .absent }
      if try vault.contains(key) { return .there(isItem: false) }
      guard andItems else { return .absent }
      let item = try ItemWords(service: key, account: nil).itemIfAny(in: context.itemsToRead())
      return item == nil ? .absent : .there(isItem: true)
    } catch let error as StoreError where error.kind == .ambiguous {
      return .there(isItem: true)
    } catch { return .unknown(error) }
  }

  func existingVault() throws -> any DecidingStore {
    guard let vault = try vault() else {
      throw Failure(
        StoreError(.noVault, "there is no vault", place: context.places.vault.description, cure: "coffer init creates one"))
    }
    return vault
  }

  func writablePlain() throws(StoreError) -> DefaultsStore {
    if let openedPlain { return openedPlain }
    let store = try context.places.openDefaults(domain)
    openedPlain = store
    return store
  }

  /// Moves a preference, as `form`, in one transaction over both stores: the value is in the vault, or still in its old
  /// place.
  func moveToVault(_ key: String, _ stored: PlainForm, as form: SecretForm) throws {
    try context.checkIsNoMirror()
    let vault = try existingVault()
    guard try !vault.contains(key) else { throw inBoth(key) }
    try StorageRouter(plain: writablePlain(), vault: vault, spaces: []).move(key, stored, intoVaultAs: form)
    try finish()
    context.note("'\(Printable.line(key))' moved into the vault; old backups of \(plain.place) may still hold it")
  }

  /// Writes changes in the property list to the disk, for other programs too.
  func finish() throws(StoreError) { try openedPlain?.close() }

  func notFound(_ key: String, hasVault: Bool = true) -> StoreError {
    StoreError(
      .notFound, "nothing is stored in domain '\(domain)'", key: key,
      cure: hasVault
        ? "coffer list --domain \(domain) shows its keys" : "there is no vault either: coffer init creates one")
  }

  func inBoth(_ key: String) -> StoreError {
    StoreError(
      .damaged, "the key is both in the property list and in the vault", key: key, place: plain.place,
      cure: "coffer show \(CommandText.quoted(key)) --domain \(domain) says how to settle it")
  }
}
