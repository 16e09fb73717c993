internal import ArgumentParser
internal import Coffer
internal import CofferPlatform
internal import CofferTerminal
internal import CofferVault
internal import Synchronization
internal import SystemPackage

struct VaultMirrorCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "mirror", abstract: "Keep a sealed copy of a vault on a server, to be read when the server is away.",
    discussion: """
      Makes FILE, or brings it up to the vault's newest commit, all at once. A vault that is older than the mirror is refused, \
      and so is to replace what is no mirror. With --follow it is brought up to each commit, until control-C; a server that goes \
      away is waited for.
      """)

  @Argument(help: ArgumentHelp("The mirror.", valueName: "file"), completion: .file()) var file: String
  @Flag(help: "Stay, and bring it up to each commit of others.") var follow = false
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    try GivenPath.check(file)
    // Whoever follows it may leave the folder that is current now.
    let file = try TrustedPath.absolute(FilePath(file))
    let vault = try context.unlockedVault()
    let lines = MirrorLines(file, context)
    guard follow else {
      let report = try refreshed(vault, file, context)
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

  private func refreshed(
    _ vault: borrowing UnlockedVault, _ file: FilePath, _ context: Context
  ) throws(StoreError) -> MirrorReport {
    let progress = context.progress(json: options.json, .mirroring)
    defer { progress.clear() }
    return try vault.mirror(to: file, progress: progress.show)
  }
}

/// Prints the result of each refresh, and ends the command with an error that no later refresh mends.
private final class MirrorLines: Sendable {
  private let file: FilePath
  private let json: Bool
  private let note: @Sendable (String) -> Void
  let end = WatchEnd()
  /// The result of the last refresh.
  private enum Last: Equatable { case none, well, failed(StoreError.Kind) }
  private let last = Mutex(Last.none)

  init(_ file: FilePath, _ context: Context) {
    self.file = file
    json = context.json
    let isQuiet = context.quiet
    note = { text in if !isQuiet { Output.message("coffer: note: \(Printable.line(text))") } }
  }

  func text(_ report: MirrorReport) -> String {
    report.isWritten
      ? "mirrored vault \(report.id) at generation \(report.generation) to \(file)"
      : "the mirror \(file) is at the vault's newest generation already, \(report.generation)"
  }

  func print(_ report: MirrorReport) throws(Failure) {
    try Output.line(
      JSONText.encode(
        Answer(file: file.string, id: report.id.description, generation: report.generation, written: report.isWritten)))
  }

  func tell(_ result: Result<MirrorReport, StoreError>) {
    switch result {
    case .success(let report): tell(report)
    case .failure(let error): tell(error)
    }
  }

  private func tell(_ report: MirrorReport) {
    let before = now(.well)
    guard report.isWritten || before != .well else { return }
    guard json else { return note(text(report)) }
    do throws(Failure) { try print(report) } catch { end.fail(error) }
  }

  /// What passes is said once, and waited for: the mirror is as it was. All else is for somebody to look at.
  private func tell(_ error: StoreError) {
    guard [.unreachable, .busy, .noSpace].contains(error.kind) else { return end.fail(error) }
    if now(.failed(error.kind)) != .failed(error.kind) { note("the mirror stays as it is for now: \(error.what)") }
  }

  /// Remembers the result of a refresh, and returns the one before.
  private func now(_ result: Last) -> Last {
    last.withLock { last in
      defer { last = result }
      return last
    }
  }

  private struct Answer: Encodable { let file: String, id: String, generation: UInt64, written: Bool }
}
