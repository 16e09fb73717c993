internal import ArgumentParser
internal import CofferPlatform
internal import CofferTerminal
internal import CofferVault
internal import Synchronization
internal import SystemPackage

struct VaultMirrorCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "mirror", abstract: "Keep a sealed copy of a server's vault to read when it is away.",
    discussion: """
      Creates FILE, or updates it to the vault's newest commit, all at once. It refuses a vault older than the mirror, and does \
      not replace any other file. With --follow it updates FILE after each commit, until Control-C, and waits for a server that \
      goes away.
      """)

  @Argument(help: ArgumentHelp("The mirror.", valueName: "file")) var file: String
  @Flag(help: "Stay, and update it after each commit of others.") var follow = false
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    try GivenPath.check(file)
    // Whoever follows it may leave the folder that is current now.
    let file = try TrustedPath.absolute(FilePath(file))
    let vault = try context.unlockedVault()
    let lines = MirrorLines(file, context)
    guard follow else {
      let report = try context.showing(.mirroring) { try vault.mirror(to: file, progress: $0.show) }
      guard !options.json else { return try lines.print(report) }
      let done = lines.text(report)
      return context.done("\(done); coffer --vault mirror:\(file) reads it", elsewhere: done)
    }
    // Before there are threads to do the watching, so that no thread but this one takes a signal.
    let held = HeldSignals([SIGINT, SIGTERM])
    let subscription = try vault.keepMirror(at: file) { lines.tell($0) }
    defer { subscription.cancel() }
    try lines.end.wait(held)
  }
}

/// Prints each refresh, and ends the command with an error that no later refresh mends.
private final class MirrorLines: Sendable {
  private let file: FilePath
  private let json: Bool
  private let note: @Sendable (String) -> Void
  let end = WatchEnd()
  private enum Last: Equatable { case none, well, failed(StoreError.Kind) }
  private let last = Mutex(Last.none)

  init(_ file: FilePath, _ context: Context) {
    self.file = file
    json = context.json
    note = context.notes
  }

  func text(_ report: MirrorReport) -> String {
    report.isWritten
      ? "mirrored vault \(report.id) at generation \(report.generation) to \(file)"
      : "the mirror \(file) is up to date, at generation \(report.generation)"
  }

  func print(_ report: MirrorReport) throws(Failure) {
    try Output.json(
      Answer(file: file.string, id: report.id.description, generation: report.generation, written: report.isWritten))
  }

  func tell(_ result: Result<MirrorReport, StoreError>) {
    switch result {
    case .success(let report):
      let before = now(.well)
      guard report.isWritten || before != .well else { return }
      guard json else { return note(text(report)) }
      do throws(Failure) { try print(report) } catch { end.fail(error) }
    case .failure(let error):
      // A passing failure is reported once and waited for: the mirror is as it was. A person looks at any other.
      guard [.unreachable, .busy, .noSpace].contains(error.kind) else { return end.fail(error) }
      if now(.failed(error.kind)) != .failed(error.kind) { note("the mirror is unchanged for now: \(error.what)") }
    }
  }

  /// Returns the previous result.
  private func now(_ result: Last) -> Last {
    last.withLock { last in
      defer { last = result }
      return last
    }
  }

  private struct Answer: Encodable { let file: String, id: String, generation: UInt64, written: Bool }
}
