internal import ArgumentParser
internal import Coffer
internal import CofferStorage
internal import CofferTerminal
internal import FoundationEssentials

struct DefaultsExportCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "export", abstract: "Write a domain as an XML property list.",
    discussion: "An existing file is replaced in one step; only its owner can read a new one.")

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
    commandName: "import", abstract: "Store every value of an XML or binary property list in a domain.",
    discussion: """
      All values are stored in one step, or none. As on macOS, keys in the list are replaced and all others stay; to keep only \
      the list's, run 'coffer defaults delete DOMAIN' first.
      """)

  enum Duplicates: String, ExpressibleByArgument, CaseIterable { case skip, replace, fail }

  @Argument(help: "The domain.", completion: Completions.domains) var domain: String
  @Argument(help: ArgumentHelp("The file to read; - is standard input.", valueName: "file|-")) var path: String
  @Option(help: ArgumentHelp("For existing keys: replace, skip, or fail and import nothing.", valueName: "what"))
  var onDuplicate: Duplicates = .replace
  @Flag(help: "Only print what would happen.") var dryRun = false
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let place = path == "-" ? "standard input" : path
    let list = try PlainFile.read(path, limit: DefaultsStore.largestPropertyList)
    let values = try DefaultsStore.values(ofPropertyList: list, from: place)
    // A damaged list does not even get a journal.
    let current = try context.domain(domain).contents()
    let plan = Plan(values, current, onDuplicate)
    if onDuplicate == .fail, let key = plan.kept.first {
      throw StoreError(
        .alreadyExists, "the key already exists; nothing was imported", key: key, place: domain,
        cure: "choose --on-duplicate replace or --on-duplicate skip")
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
    if options.json { return try Output.json(plan) }
    let rows = [("added", plan.added), ("replaced", plan.replaced), ("kept", plan.kept)]
      .flatMap { word, keys in keys.map { [word, $0] } }
    try Table.show(rows, under: ["DONE", "KEY"])
    context.note("nothing was changed (--dry-run)")
  }

  private struct Plan: Encodable {
    var added: [String] = [], replaced: [String] = [], kept: [String] = []

    init(_ values: [String: PlainForm], _ current: [String: PlainForm], _ policy: Duplicates) {
      for key in values.keys.sorted() {
        if current[key] == nil {
          added.append(key)
        } else if policy == .replace {
          replaced.append(key)
        } else {
          kept.append(key)
        }
      }
    }

    /// New keys must still be new when they are written.
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
