internal import ArgumentParser
internal import Coffer
internal import CofferFormats
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault

struct SetCommand: OpeningCommand, AskingCommand, TwoStoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "set", abstract: "Store a secret or a preference.",
    discussion: """
      Without VALUE it is a secret, from the prompt, standard input, --file, --fd or --generate. It is stored in the vault as \
      the item NAME, or with --domain as a key of that domain. With VALUE it is a preference, which anyone with the file can \
      read; a new one needs --plain. An existing name stays in its store. With --secret a preference moves into the vault, and \
      its plain copy is scrubbed. The label and attributes stay unless you give new ones; the expiry stays only with --expires \
      keep. 'coffer revert' brings a replaced secret back.
      """, aliases: ["add", "insert", "store"])

  @Argument(help: "SERVICE/ACCOUNT of a secret; the key of a preference.", completion: Completions.names) var name: String?
  @Argument(parsing: .allUnrecognized, help: ArgumentHelp("The value of a preference.", valueName: "value")) var words: [String] =
    []
  @Flag(name: .customLong("plain"), help: "Store a new name as a preference, readable in a property list.") var plain = false
  @Flag(name: .customLong("secret"), help: "Move a preference into the vault as a secret.") var secret = false
  @Option(help: ArgumentHelp("A label for people.", valueName: "text")) var label: String?
  @Option(help: ArgumentHelp("When the value expires: 30d, 12h, 2026-12-31, never, keep.", valueName: "when"))
  var expires: String?
  @Option(help: ArgumentHelp("Store a secret field of an existing item, beside its value.", valueName: "name")) var field: String?
  @Option(help: ArgumentHelp("An attribute to find the item by; may be repeated.", valueName: "name=value"))
  var attribute: [String] = []
  @Option(
    help: ArgumentHelp(
      "A preference's type: bool, int, float, string, date, data or json; a secret's media type, such as text/plain.",
      valueName: "type"), completion: .list(PlainType.allCases.map(\.rawValue)))
  var type: String?
  @Flag(help: "Fail if the item exists.") var create = false
  @Option(help: ArgumentHelp("Fail unless the item is at this revision (see 'coffer show').", valueName: "number"))
  var ifRevision: UInt64?
  @Option(help: .exactService, completion: Completions.services) var service: String?
  @Option(help: .exactAccount, completion: Completions.accounts) var account: String?
  @OptionGroup var store: StoreChoice
  @OptionGroup(title: "History") var past: HistoryOptions
  @OptionGroup(title: "Where the value comes from") var source: ValueOptions
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    // Every word that is no option arrives here: only a number may begin with a hyphen.
    if let option = words.first(where: { $0.hasPrefix("-") && $0.count > 1 && Double($0) == nil }) {
      throw ValidationError("unknown option '\(option.prefix { $0 != "=" })'")
    }
    guard !(plain && secret) else { throw ValidationError("give --plain or --secret, not both") }
    guard !create || ifRevision == nil else { throw ValidationError("give --create or --if-revision, not both") }
    guard service == nil || name == nil else { throw ValidationError("give a name or --service, not both") }
    guard account == nil || service != nil else { throw ValidationError("--account needs --service") }
    if let type, plainType == nil, !type.isEmpty, !type.contains("/") {
      throw ValidationError("--type takes bool, int, float, string, date, data or json, or a media type such as text/plain")
    }
    guard !describesItem || !(plain || (!words.isEmpty && !isOfVault)) else {
      throw ValidationError("a preference has no label, attributes, fields, expiry or history")
    }
    guard !(secret || isOfVault) || plainType == nil else {
      throw ValidationError("--type \(type ?? "") is the type of a preference, not of a secret")
    }
  }

  private var plainType: PlainType? { type.flatMap(PlainType.init) }
  private var mediaType: String { plainType == nil ? type ?? "" : "" }
  var describesItem: Bool {
    field != nil || label != nil || !attribute.isEmpty || expires != nil || !mediaType.isEmpty || create || ifRevision != nil
      || past.isGiven
  }
  private var isOfVault: Bool { store.onlyItems || service != nil }

  func perform(_ context: Context) throws {
    var item = ItemArguments()
    // The words of `coffer vault set` are SERVICE and ACCOUNT.
    let account = store.onlyItems ? words.first : nil
    (item.name, item.account, item.service, item.exactAccount) = (name, account, service, self.account)
    guard words.count <= (store.onlyItems ? 1 : isOfVault ? 0 : words.count) else { throw SecretArguments.refusal("a value") }
    if let name, plain || !words.isEmpty, !isOfVault { try StoredName.check(name) }
    guard !isOfVault, let key = try store.key(item, context) else {
      guard words.isEmpty || store.onlyItems else { throw SecretArguments.refusal("the value of a secret") }
      return try storeItem(item.words, nil, context)
    }
    try PreferenceWrite(command: self, key: key, type: plainType).perform(context) { try storeItem(item.words, key, context) }
  }

  /// Stores the secret, as the key's if that is there or meant.
  private func storeItem(_ words: ItemWords, _ key: DomainKey?, _ context: Context) throws {
    guard words.isExact || !words.service.hasSuffix("/") || words.account != nil else {
      throw Failure.usage("the name '\(Printable.line(words.service))' ends with a slash", try: "SERVICE/ACCOUNT")
    }
    let written = try key.flatMap { $0.isExact ? try $0.item : nil } ?? words.name()
    let expiry = try expires.map { try Expiry($0) }
    var metadata = ItemMetadata(
      label: label ?? "", contentType: mediaType, attributes: try Attributes.parse(attribute), expires: expiry?.date)
    try NewName.check(written)
    try FieldName.check(field)
    try MediaType.check(mediaType)
    try source.claimInput(context)
    let items = try context.items()
    let name = try named(written, words, key, items)
    let old = try items.item(name)
    if create, old != nil {
      throw StoreError(.alreadyExists, "the item already exists", key: name.description, cure: "omit --create to replace it")
    }
    if old == nil, !create, field == nil, key?.isExact != true { try checkIsMeant(name, words, items, context) }
    if !metadata.attributes.isEmpty, var kept = old?.metadata.attributes {
      Attributes.merge(metadata.attributes, into: &kept)
      metadata.attributes = kept
    }
    if expiry == .keep { metadata.expires = old?.metadata.expires }
    let prompt = field.map { "New \($0) of" } ?? (old == nil ? "Value of the new item" : "New value of")
    let value = try source.read("\(prompt) \(name.item)", context)
    let stored = try items.set(
      SecretForm(value, metadata: metadata), for: name, if: condition, keeping: past.keeping(old, context))
    tell(old, stored, context)
    try items.noteEnd()
    if options.json { try Output.line(JSONText.encode(ItemJSON(stored))) }
  }

  /// An existing item is found as in other commands: nobody could tell two items of one spelling apart.
  private func named(_ written: ItemName, _ words: ItemWords, _ key: DomainKey?, _ items: VaultItems) throws -> ItemName {
    let own = try key.flatMap { try $0.isExact || items.item($0.item) != nil ? $0.item : nil }
    guard let field else { return try own ?? words.stored(as: written, in: items) }
    return try (own ?? words.item(in: items).name).field(named: field)
  }

  /// A name that so far found another item may have been meant for that one.
  private func checkIsMeant(_ new: ItemName, _ words: ItemWords, _ items: VaultItems, _ context: Context) throws {
    guard try !words.isExact && words.named().account == nil, let other = try items.meant(by: new.description).first?.name
    else { return }
    guard items.canAsk else { return context.note("'\(new)' is a new item beside '\(other)'") }
    let cure = "\(CommandText.item("set", other)) replaces the value of that one"
    try context.checkAgreed("\(other) exists. Store another item \(new)?", "stored", cure: cure)
  }

  private func tell(_ old: VaultItem?, _ item: VaultItem, _ context: Context) {
    if old?.metadata.expires != nil, expires == nil {
      context.note("the new value does not expire; use --expires to set a date, or --expires keep to keep the old one")
    }
    if label == "", !item.metadata.label.isEmpty { context.note("the label is unchanged; coffer edit --label '' clears it") }
    context.doneStoring(item, over: old)
  }

  private var condition: WriteCondition { create ? .absent : ifRevision.map(WriteCondition.revision) ?? .always }
}

extension Context {
  /// Reports a stored item or field, and the command that brings back what it replaced.
  func doneStoring(_ item: VaultItem, over old: VaultItem?) {
    let field = item.name.field == OneTimeURI.field ? "the one-time code" : item.name.field
    let name = (field.isEmpty ? "" : "\(field) of ") + "'\(item.name.item)'"
    guard let old else { return done("stored \(name)") }
    let cure = "\(CommandText.item("revert", item.name, String(old.revision))) brings the old value back"
    done("replaced \(name); \(item.history > 0 ? cure : "the old value is gone")")
  }
}

/// `coffer set` for a word that may be the key of a preference. The place of a stored value decides; a new one is a secret,
/// unless --plain.
private struct PreferenceWrite {
  let command: SetCommand
  let key: DomainKey
  let type: PlainType?

  private var name: String { key.name }
  private var router: ShellRouter { key.router }
  private var value: String? { command.words.first }
  private var source: ValueOptions { command.source }
  private var namesStore: Bool { command.plain || type != nil }

  func perform(_ context: Context, orSecret storeSecret: () throws -> Void) throws {
    guard value == nil || !command.secret else { throw SecretArguments.refusal("the secret") }
    guard command.words.count <= 1 else {
      throw Failure.usage("several values were given (not repeated here)", try: "quotes around a value with spaces")
    }
    guard value == nil || !source.isExplicit else {
      throw Failure.usage("the value was given twice", try: "an argument, or one of --file, --fd, --stdin, --generate")
    }
    try StoredName.check(name)
    guard let stored = try router.plain.load(name) else {
      guard value != nil || namesStore else { return try storeSecret() }
      try checkIsNew(context)
      return try store(type ?? .string, context)
    }
    guard !command.describesItem else {
      throw Failure.usage(
        "'\(Printable.line(name))' is a preference, which has no such options",
        try: "coffer set \(CommandText.quoted(name)) --secret to move it into the vault first")
    }
    if command.secret { return try move(stored, context) }
    if !namesStore { try key.checkIsOnlyPreference(besideItems: value == nil) }
    try store(type ?? PlainType(of: stored), context)
  }

  private func checkIsNew(_ context: Context) throws {
    guard command.plain else {
      if case .there = router.lookUp(name, andItems: !key.isExact) { throw SecretArguments.refusal("the secret") }
      throw Failure.usage(
        "'\(Printable.line(name))' is new, and a value on the command line is not secret",
        try:
          "--plain to store a preference that anyone with the file can read; for a secret, coffer set \(CommandText.quoted(name))"
      )
    }
    try key.checkIsNoSecret(context)
  }

  private func store(_ type: PlainType, _ context: Context) throws {
    if value == nil { try source.claimInput(context) }
    let form = try form(type, context)
    try DefaultsStore.checkStorable(form, under: name)
    try router.writablePlain().save(form, for: name)
    try router.finish()
    let text = "stored the preference '\(name)' of \(router.domain)"
    // Perhaps meant as a secret.
    let warning = value == nil && !namesStore ? "\(text), readable in \(router.plain.place)" : nil
    context.done(warning ?? text, elsewhere: warning)
    if command.options.json { try Output.line(JSONText.encode(["domain": router.domain, "key": name, "store": "defaults"])) }
  }

  private func form(_ type: PlainType, _ context: Context) throws -> PlainForm {
    if let value { return try type.parse(value) }
    guard source.isExplicit || source.usesStandardInput else {
      throw Failure.usage("there is no value", try: "coffer set \(CommandText.quoted(name)) VALUE, or standard input")
    }
    let bytes = try source.read("New value", context)
    if type == .data { return .data(bytes.withUnsafeBytes { PlainBytes.data($0) }) }
    let text = bytes.withUnsafeBytes { PlainBytes.text($0) }
    guard let text else { throw Failure.usage("the value is not UTF-8 text", try: "--type data for bytes") }
    return try type.parse(text)
  }

  private func move(_ stored: PlainForm, _ context: Context) throws {
    if source.isExplicit { try source.claimInput(context) }
    // Before the question for a value.
    guard try !router.existingVault().contains(name) else { throw router.inBoth(name) }
    let given = source.isExplicit ? try SecretForm(source.read("New secret for \(name)", context)) : try PlainBytes.secret(stored)
    try router.moveToVault(name, stored, as: given)
  }
}
