internal import ArgumentParser
internal import Coffer
internal import CofferStorage
internal import CofferTerminal
internal import FoundationEssentials

struct DefaultsExportCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "export", abstract: "Write a domain as an XML property list.",
    discussion: "A file that is there is replaced in one step; one that is new can be read by its owner alone.")

  @Argument(help: "The domain.", completion: Completions.domains) var domain: String
  @Argument(help: ArgumentHelp("The file to write; - is standard output.", valueName: "file|-")) var path: String
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let list = try context.existingDomain(domain).exportPropertyList()
    if path == "-" { try Output.write(list.bytes) } else { try PlainFile.write(list.bytes, to: path) }
  }
}

struct DefaultsImportCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "import", abstract: "Store every value of a property list, XML or binary, in a domain.",
    discussion: """
      All of it is stored in one step, or nothing. As on macOS, keys that the list has are replaced and all others stay; \
      'coffer defaults delete DOMAIN' first leaves only the list's. --on-duplicate skip keeps what is there, --on-duplicate fail \
      imports nothing then. --dry-run prints what would happen to each key.
      """)

  enum Duplicates: String, ExpressibleByArgument, CaseIterable {
    case skip, replace, fail
  }

  @Argument(help: "The domain.", completion: Completions.domains) var domain: String
  @Argument(help: ArgumentHelp("The file to read; - is standard input.", valueName: "file|-")) var path: String
  @Option(
    help: ArgumentHelp("What becomes of a key that is there: replace, skip or fail.", valueName: "what"))
  var onDuplicate: Duplicates = .replace
  @Flag(help: "Change nothing, and print what would happen.") var dryRun = false
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let place = path == "-" ? "standard input" : path
    let list = try PlainFile.read(path, limit: DefaultsStore.largestPropertyList)
    let values = try DefaultsStore.values(ofPropertyList: list, from: place)
    // Without a trace, so that a damaged list does not even get a journal.
    let present = try context.domain(domain).contents()
    let plan = Plan(values, present, onDuplicate)
    if onDuplicate == .fail, let key = plan.kept.first {
      throw StoreError(
        .alreadyExists, "the key is there already, and nothing was imported", key: key, place: domain,
        cure: "--on-duplicate replace or --on-duplicate skip says what becomes of such keys")
    }
    guard !dryRun else { return try show(plan, context) }
    let store = try context.places.openDefaults(domain)
    if onDuplicate == .replace {
      try store.importPropertyList(list, from: place)
    } else {
      try store.commit(plan.batch(values), decision: nil)
    }
    try store.close()
  }

  private func show(_ plan: Plan, _ context: Context) throws {
    if options.json { return try Output.line(JSONText.encode(plan)) }
    let rows = [("added", plan.added), ("replaced", plan.replaced), ("kept", plan.kept)]
      .flatMap { word, keys in keys.map { [word, $0] } }
    try Table.show(rows, under: ["DONE", "KEY"])
    context.note("nothing was changed: this was --dry-run")
  }

  private struct Plan: Encodable {
    var added: [String] = [], replaced: [String] = [], kept: [String] = []

    init(_ values: [String: PlainForm], _ present: [String: PlainForm], _ policy: Duplicates) {
      for key in values.keys.sorted() {
        if present[key] == nil {
          added.append(key)
        } else if policy == .replace {
          replaced.append(key)
        } else {
          kept.append(key)
        }
      }
    }

    /// The writes for new keys, which must still be new when they are made.
    func batch(_ values: [String: PlainForm]) -> Batch<Plain> {
      var batch = Batch<Plain>()
      for key in added {
        batch.expectations[key] = .some(nil)
        batch.writes[key] = values[key].map { .set($0) }
      }
      return batch
    }
  }
}

enum DomainFileCommands {
  static let all: [any ParsableCommand.Type] = [DefaultsExportCommand.self, DefaultsImportCommand.self]
}
