internal import ArgumentParser
internal import Coffer

struct DefaultsImport: Command {
  static let configuration = CommandConfiguration(
    commandName: "import", abstract: "Store every value of a property list, XML or binary, in a domain.",
    discussion: """
      All of it is stored in one step, or nothing. As on macOS, keys that the list has are replaced and all others stay; \
      'coffer defaults delete DOMAIN' first leaves only the list's.
      """)

  @Argument(help: "The domain.") var domain: String
  @Argument(help: ArgumentHelp("The file to read; - is standard input.", valueName: "file|-")) var path: String
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions

  func perform(_ session: Session) throws {
    let place = path == "-" ? "standard input" : path
    let list = try PlainFile.read(path, limit: DefaultsStore.largestPropertyList)
    _ = try DefaultsStore.values(ofPropertyList: list, from: place)
    // Without a trace, so that a damaged list does not even get a journal.
    _ = try session.domain(domain)
    let store = try session.places.openDefaults(domain)
    try store.importPropertyList(list, from: place)
    try store.close()
  }
}
