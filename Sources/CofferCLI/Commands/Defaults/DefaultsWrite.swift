internal import ArgumentParser
internal import Coffer

struct DefaultsWrite: Command {
  static let configuration = CommandConfiguration(
    commandName: "write", abstract: "Store a preference.",
    usage: "coffer defaults write [--home <dir>] [--quiet] <domain> <key> [-type] <value> …",
    discussion: """
      Without a type flag the value is text. The flags are those of macOS: -bool, -int, -float, -string, -date, -data (in \
      hexadecimal), -array VALUE…, -array-add VALUE…, -dict KEY VALUE…, -dict-add KEY VALUE…; inside an array or a dictionary \
      a value may carry its own flag.
      """)

  // The words are macOS's, not this parser's: -int is one flag there, and -5 a number.
  @Argument(parsing: .captureForPassthrough, help: ArgumentHelp("Domain, key, type flag and value.", valueName: "words"))
  var words: [String] = []
  @OptionGroup var ownCommon: CommonOptions

  /// The program's options are recognised before the words by the parser, and after them here.
  var common: CommonOptions { split.common }

  private var split: (words: ArraySlice<String>, common: CommonOptions) {
    var rest = words[...]
    var common = ownCommon
    while let last = rest.last, !rest.dropLast().suffix(1).contains(where: TypedWords.isTypeFlag) {
      if rest.count > 4, rest.dropLast().last == "--home" {
        common.home = last
        rest = rest.dropLast(2)
      } else if last.hasPrefix("--home=") {
        common.home = String(last.dropFirst("--home=".count))
        rest = rest.dropLast()
      } else if last == "--quiet" || last == "-q" {
        common.quiet = true
        rest = rest.dropLast()
      } else {
        break
      }
    }
    return (rest, common)
  }

  func perform(_ session: Session) throws {
    let words = split.words
    guard !["--help", "-h", "-help"].contains(words.first) else { throw CleanExit.helpRequest(self) }
    guard words.count >= 3 else {
      throw Failure.usage("a domain, a key and a value are needed", try: "coffer defaults write com.example.app theme dark")
    }
    let store = try session.places.openDefaults(words[0])
    let key = try StoredName.check(words[1])
    let value = try TypedWords.parse(words.dropFirst(2))
    switch value {
    case .replace(let form): try store.save(form, for: key)
    case .append(let items):
      try store.update(key) { (old) throws(StoreError) in
        guard case .array(let before)? = old ?? .array([]) else { throw Self.notOf("array", old, key) }
        return .array(before + items)
      }
    case .merge(let items):
      try store.update(key) { (old) throws(StoreError) in
        guard case .dictionary(let before)? = old ?? .dictionary([:]) else { throw Self.notOf("dictionary", old, key) }
        return .dictionary(before.merging(items) { $1 })
      }
    }
    try store.close()
  }

  private static func notOf(_ kind: String, _ found: PlainForm?, _ key: String) -> StoreError {
    StoreError(
      .undecodable(stored: found?.kindName ?? "nothing"), "the stored value is no \(kind), so nothing can be added to it",
      key: key, cure: "write a whole new value")
  }
}
