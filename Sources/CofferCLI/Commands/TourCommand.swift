internal import ArgumentParser
internal import Coffer
internal import CofferPlatform
internal import CofferTerminal
internal import FoundationEssentials
internal import SystemPackage

struct TourCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "tour", abstract: "See the main features at work on real files, step by step.",
    discussion: """
      Creates a vault, stores a token and a toggle through one API, and shows the file of each, how another process reads them, \
      the effect of a single changed byte, and the traces of a logout. Asks for nothing. Its files are in a folder of their own, \
      removed at the end; --home DIR puts them there and keeps them. Every claim is checked: if one does not hold, the exit \
      status is not 0.
      """)

  @OptionGroup var options: CommonOptions

  // It starts itself as the second process.
  var startsPrograms: Bool { true }

  func perform(_ context: Context) throws {
    guard options.vault == nil else { throw Failure.usage("the tour creates its own vault", try: "the tour without --vault") }
    guard let home = context.places.home, options.home != nil else { return try inTemporaryFolder() }
    let vault = try Places(home: home).vault.file()
    guard !FileFacts.exists(vault) else {
      throw StoreError(
        .alreadyExists, "there is already a vault, and the tour creates its own", place: vault.string,
        cure: "an empty folder, or the tour without --home")
    }
    try FileManager.default.createDirectory(atPath: home.string, withIntermediateDirectories: true)
    try Tour(home: home, keeps: true).run()
  }

  private func inTemporaryFolder() throws {
    let parent = FilePath(ProcessEnvironment.value("TMPDIR") ?? "/tmp")
    var name = Array(parent.appending("coffer-tour-XXXXXX").string.utf8CString)
    guard mkdtemp(&name) != nil else { throw StoreError(errno: errno, "make a folder for the tour", place: parent) }
    let home = FilePath(platformString: name)
    let tour = Tour(home: home, keeps: false)
    let outcome = Result { try tour.run() }
    try FileManager.default.removeItem(atPath: home.string)
    tour.deliverSignal()
    try outcome.get()
  }
}
