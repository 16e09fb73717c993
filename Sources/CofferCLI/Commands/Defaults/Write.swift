internal import ArgumentParser
internal import Coffer
internal import CofferFormats
internal import CofferStorage
internal import CofferPlatform
internal import CofferTerminal

struct DefaultsWriteCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "write", abstract: "Store a preference.",
    usage: "coffer defaults write [options] DOMAIN KEY [-type] VALUE …",
    discussion: """
      The flags are those of macOS: -bool, -int, -float, -string, -date, -data (in hexadecimal), -array VALUE…, -array-add \
      VALUE…, -dict KEY VALUE…, -dict-add KEY VALUE…; a value inside an array or a dictionary may have its own flag. Without a \
      flag the value is text, unless it begins with {, ( or <. Then it must be a property list in the old notation or in XML: '{ \
      a = 1; }', '(a, b)', '<0f00>' or '<dict>…</dict>'. Put -string before text that begins with one of these.
      """)

  // The words are macOS's, not this parser's: -int is one flag there, and -5 a number.
  @Argument(parsing: .captureForPassthrough, help: ArgumentHelp("Domain, key, type flag and value.", valueName: "words"))
  var words: [String] = []
  @OptionGroup var own: AnswerOptions

  /// The parser reads the program's options before the words, and this property reads those after them.
  var options: AnswerOptions { split.options }

  private var split: (words: [String], options: AnswerOptions) {
    var rest = words[...]
    if rest.first == "--" { rest = rest.dropFirst() }
    var options = own
    while let last = rest.last, !rest.dropLast().suffix(1).contains(where: TypedWords.isTypeFlag) {
      if rest.count > 4, rest.dropLast().last == "--home" {
        options.home = last
        rest = rest.dropLast(2)
      } else if last.hasPrefix("--home=") {
        options.home = String(last.dropFirst("--home=".count))
        rest = rest.dropLast()
      } else if last == "--quiet" || last == "-q" {
        options.quiet = true
        rest = rest.dropLast()
      } else if last == "--json" {
        rest = rest.dropLast()  // Main has seen it: it is the form of errors.
      } else {
        break
      }
    }
    return (Array(rest), options)
  }

  func perform(_ context: Context) throws {
    let words = split.words
    guard !["--help", "-h", "-help"].contains(words.first) else {
      return try HelpPage(command: CommandDefinition(["defaults", "write"], Self.self), isWhole: words.contains("--all")).show()
    }
    guard words.count >= 3 else {
      throw Failure.usage(
        "a domain, a key and a value are needed",
        try: "coffer defaults write com.example.app theme dark; 'coffer defaults import' takes a whole property list")
    }
    let (domain, key) = (words[0], try StoredName.check(words[1]))
    let value = try TypedWords.parse(words.dropFirst(2))
    // An unstorable value, or a damaged list, must not even make a journal.
    try DefaultsStore.checkStorable(value.applied(to: context.domain(domain).load(key), under: key), under: key)
    let store = try context.places.openDefaults(domain)
    if case .replace(let form) = value {
      try store.save(form, for: key)
    } else {
      try store.update(key) { (old) throws(StoreError) in try value.applied(to: old, under: key) }
    }
    try store.close()
  }
}

struct DefaultsDeleteCommand: AskingCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete", abstract: "Remove a preference, or a whole domain with its property list.",
    discussion: "Before it removes a whole domain, a terminal asks, unless --yes is given.",
    aliases: ["rm", "del", "remove"])

  @Argument(help: "The domain.", completion: Completions.domains) var domain: String
  @Argument(help: "The key; all if omitted.", completion: Completions.keys) var key: String?
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    guard let key else { return try removeDomain(context) }
    _ = try context.value(of: key, in: domain)
    let store = try context.places.openDefaults(domain)
    try store.save(nil, for: key)
    try store.close()
  }

  private func removeDomain(_ context: Context) throws {
    let count = try context.existingDomain(domain).names().count
    try context.checkRemoval("Remove all \(count) preferences of \(domain)?")
    // Held open, so that a transaction left between the stores is settled with the vault's file.
    let store = try context.places.openDefaults(domain)
    try store.domain.remove()
  }
}

struct DefaultsRenameCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "rename", abstract: "Rename the key of a preference in one step.",
    discussion: "As on macOS, the new key's value is replaced.", aliases: ["mv"])

  @Argument(help: "The domain.", completion: Completions.domains) var domain: String
  @Argument(help: "The current key.", completion: Completions.keys) var old: String
  @Argument(help: "The new key.") var new: String
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    try DefaultsStore.checkStorable(context.value(of: old, in: domain), under: new)
    let store = try context.places.openDefaults(domain)
    do throws(StoreError) { try store.rename(old, to: new) } catch {
      throw error.kind == .notFound ? context.nothing(under: old, in: domain) : error
    }
    try store.close()
  }
}
