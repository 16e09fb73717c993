internal import ArgumentParser
internal import Coffer
internal import CofferFormats
internal import CofferStorage
internal import CofferTerminal

struct SetCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "set", abstract: "Store a value under a key, in the store the key belongs to.",
    discussion: """
      A key that is stored already stays where it is and keeps its type. A new key says --plain or --secret. \
      The value of a preference may be an argument, negative numbers too; a secret comes from standard input, --file, --fd, \
      --generate or the prompt. With --secret a preference moves into the vault and its plain copy is scrubbed; \
      naming a source of a value as well stores that value instead.
      """)

  @Argument(help: "The key's name.", completion: Completions.routerKeys) var key: String
  @Argument(parsing: .allUnrecognized, help: ArgumentHelp("The value of a preference.", valueName: "value")) var words: [String] =
    []
  @Flag(name: .customLong("plain"), help: "A new key is a preference: readable in a property list.") var plain = false
  @Flag(name: .customLong("secret"), help: "The key is a secret: sealed in the vault.") var secret = false
  @Flag(help: "The type of a preference.") var type: PlainType?
  @OptionGroup var router: RouterOptions
  @OptionGroup(title: "Where the value comes from") var source: ValueOptions
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: CommonOptions

  func validate() throws {
    // Every word that is no option arrives here: only a number may begin with a hyphen.
    if let option = words.first(where: { $0.hasPrefix("-") && $0.count > 1 && Double($0) == nil }) {
      throw ValidationError("unknown option '\(option.prefix { $0 != "=" })'")
    }
    guard !(plain && secret) else { throw ValidationError("--plain and --secret exclude each other") }
    guard !secret || type == nil else { throw ValidationError("a type flag belongs to a preference, not to a secret") }
  }

  func perform(_ context: Context) throws {
    guard !secret || words.isEmpty else { throw SecretArguments.refusal("the secret") }
    guard words.count <= 1 else {
      throw Failure.usage("several values were given (not repeated here)", try: "quotes around a value with spaces")
    }
    guard words.isEmpty || !source.isExplicit else {
      throw Failure.usage("the value was given twice", try: "an argument, or one of --file, --fd, --stdin, --generate")
    }
    try StoredName.check(key)
    let router = try ShellRouter(router, context)
    let stored = try router.plain.load(key)
    let moves = secret && stored != nil && !source.isExplicit
    if words.isEmpty, !moves { try source.claimInput(context) }
    if let stored {
      try secret ? moveToVault(stored, router, context) : setPlain(type ?? PlainType(of: stored), router, context)
    } else if try mayBeSecret(router, context) {
      try setSecret(router, context)
    } else {
      try setPlain(type ?? .string, router, context)
    }
  }

  /// Whether the vault may be the store of a key that is not in the property list. A preference never unlocks the vault, nor
  /// does a value among the arguments, which is no secret.
  private func mayBeSecret(_ router: ShellRouter, _ context: Context) throws -> Bool {
    if secret { return true }
    guard plain || !words.isEmpty else {
      guard try router.vault()?.contains(key) ?? false else { throw nothingSays(router) }
      return true
    }
    switch router.lookUp(key) {
    case .there:
      guard plain else { return true }
      throw StoreError(
        .refused, "the key is a secret in the vault and stays one", key: key,
        cure: "coffer set \(key) without --plain stores a new secret, coffer delete \(key) removes it first")
    case .absent:
      guard plain else { throw nothingSays(router) }
    case .unknown(let error):
      guard plain else { throw nothingSays(router) }
      // A locked vault is usual; the user should know any other failure.
      guard let failure = Failure.of(error), failure.status != .locked else { break }
      context.note("whether the vault holds it too is unknown: \(failure.what)")
    }
    return false
  }

  private func nothingSays(_ router: ShellRouter) -> Failure {
    .usage(
      "'\(Printable.line(key))' is new in domain '\(router.domain)', and nothing says whether it is a secret",
      try: "--secret for the vault, --plain for a preference that anyone with the file may read")
  }

  private func setPlain(_ type: PlainType, _ router: ShellRouter, _ context: Context) throws {
    let value = try plainValue(type, context)
    try DefaultsStore.checkStorable(value, under: key)
    try router.writablePlain().save(value, for: key)
    try router.finish()
  }

  private func plainValue(_ type: PlainType, _ context: Context) throws -> PlainForm {
    if let word = words.first { return try type.parse(word) }
    guard source.isExplicit || source.usesStandardInput else {
      throw Failure.usage("there is no value", try: "coffer set \(key) VALUE, or standard input")
    }
    let bytes = try source.read("value", context)
    if type == .data { return .data(bytes.withUnsafeBytes { PlainBytes.data($0) }) }
    let text = bytes.withUnsafeBytes { PlainBytes.text($0) }
    guard let text else { throw Failure.usage("the value is not UTF-8 text", try: "--data for bytes") }
    return try type.parse(text)
  }

  private func setSecret(_ router: ShellRouter, _ context: Context) throws {
    guard words.isEmpty else { throw SecretArguments.refusal("the secret") }
    try NewName.check(key, as: "key")
    let vault = try router.existingVault()
    try vault.save(SecretForm(try source.read("secret for \(key)", context)), for: key)
  }

  private func moveToVault(_ stored: PlainForm, _ router: ShellRouter, _ context: Context) throws {
    // Before the question for a value.
    guard try !router.existingVault().contains(key) else { throw router.inBoth(key) }
    let given = source.isExplicit ? try SecretForm(source.read("secret for \(key)", context)) : try PlainBytes.secret(stored)
    try router.moveToVault(key, stored, as: given)
  }
}
