internal import ArgumentParser
internal import Coffer

struct VaultImport: Command {
  static let configuration = CommandConfiguration(
    commandName: "import", abstract: "Add items from a file, all of them or none.",
    discussion: """
      The file is what 'coffer vault export --reveal' prints. Where an item exists already nothing is imported, unless --replace or \
      --keep says what shall become of it. --dry-run only tells what would happen.
      """)

  enum Format: String, ExpressibleByArgument, CaseIterable { case json }

  @Argument(help: ArgumentHelp("The file; - is standard input.", valueName: "file")) var file: String
  @Option(help: ArgumentHelp("What kind of file it is: json.", valueName: "format")) var from: Format
  @Flag(help: "Imported items take the place of those that exist.") var replace = false
  @Flag(help: "Items that exist stay as they are.") var keep = false
  @Flag(help: "Change nothing, and print what would happen.") var dryRun = false
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func validate() throws {
    guard !(replace && keep) else { throw ValidationError("--replace and --keep exclude each other") }
  }

  func perform(_ session: Session) throws {
    if file == "-" { try session.input.claim(for: "the file to import") }
    try CredentialSources(options: unlocking, session: session).claimInput()
    let vault = try session.unlockedVault(unlocking)
    let items = try JSONItems.read(content(session), place: file == "-" ? "standard input" : file)
    let report = try add(items, to: vault)
    if output.json { return try Output.line(JSONText.encode(Answer(report))) }
    let rows = [("added", report.added), ("replaced", report.replaced), ("kept", report.kept)]
      .flatMap { word, names in names.map { [word, $0.service, $0.account] } }
    if !rows.isEmpty { try Output.line(Columns.align(rows)) }
    if dryRun { session.note("nothing was changed: this was --dry-run") }
  }

  private func content(_ session: Session) throws -> SecretBytes {
    let limit = SecretReader.largestValue
    guard file == "-" else { return try SecretReader.file(file, limit: limit, what: "the file", session: session) }
    return try SecretReader.read(0, limit: limit, what: "the file", place: "standard input")
  }

  private func add(_ items: [ImportedItem], to vault: borrowing UnlockedVault) throws -> ImportReport {
    do { return try vault.add(items, duplicates: replace ? .replace : keep ? .keep : .refuse, isTrial: dryRun) } catch {
      guard error.kind == .alreadyExists else { throw error }
      throw StoreError(
        error.kind, error.what, key: error.key, place: error.place, cure: "--replace or --keep says what becomes of such items")
    }
  }

  private struct Answer: Encodable {
    let added: [Name], replaced: [Name], kept: [Name]
    struct Name: Encodable { let service: String, account: String }

    init(_ report: ImportReport) {
      added = Self.names(report.added)
      replaced = Self.names(report.replaced)
      kept = Self.names(report.kept)
    }

    private static func names(_ names: [ItemName]) -> [Name] { names.map { Name(service: $0.service, account: $0.account) } }
  }
}
