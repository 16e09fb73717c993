internal import Coffer
internal import CofferMemory
internal import CofferPlatform
internal import FoundationEssentials
internal import SystemPackage

/// Why a command stops: what happened, what to do next, and the exit status. Never holds a value.
struct Failure: Error {
  private(set) var status: ExitStatus
  let kind: String
  let what: String
  var key: String?
  var place: String?
  var cure: String?
  var detail: String?
  private var isAfterStart = false

  init(_ error: StoreError) {
    status = error.kind.exitStatus
    kind = error.kind.word
    what = error.what
    key = error.key
    place = error.place
    cure = error.commandCure
    detail = error.inCommandWords.underlying.map { "\($0)" }
  }

  init(_ status: ExitStatus, kind: String, _ what: String, cure: String?) {
    self.status = status
    self.kind = kind
    self.what = what
    self.cure = cure
  }

  /// The command line is wrong.
  static func usage(_ what: String, try cure: String) -> Failure { Failure(.usage, kind: "usage", what, cure: cure) }
  /// Someone pressed control-C at a prompt.
  static let interrupted = Failure(.interrupted, kind: "interrupted", "interrupted", cure: nil)
  /// SIGTERM came while watching.
  static let terminated = Failure(.terminated, kind: "terminated", "terminated", cure: nil)
  /// The reader of our output went away. Said to nobody: `coffer list | head -1` is no mistake.
  static let pipeClosed = Failure(.pipeClosed, kind: "pipeClosed", "the reader closed the pipe", cure: nil)
  /// A command's output cannot be written. Reported after the work is done.
  static func unwritable(_ code: Int32, place: FilePath) -> Failure {
    let error = StoreError(errno: code, "write the output", place: place)
    return Failure(
      StoreError(
        error.kind, error.what, place: error.place,
        cure: "look at where the output goes; a change that the command was to make is made", underlying: error.underlying))
  }
  /// A check that the program made of itself did not hold.
  static func claim(_ what: String) -> Failure {
    Failure(.failed, kind: "failed", what, cure: "please report this with the output above")
  }

  /// All was said already, where it had to be said.
  static func said(_ status: ExitStatus) -> Failure { Failure(status, kind: "said", "", cure: nil) }

  var isQuiet: Bool { status == .pipeClosed || kind == "said" }

  /// What happened, as a sentence.
  var sentence: String { what.prefix(1).uppercased() + what.dropFirst() + "." }

  /// The same failure of a command that was started: what keeps it from starting has another status.
  var afterStart: Failure {
    var failure = self
    failure.isAfterStart = true
    return failure
  }

  /// The same failure of a command whose new key file stays at `path`.
  func keeping(keyFile path: String) -> Failure {
    var failure = self
    let kept = "keep the new key file \(path), which may be what opens the vault"
    failure.cure = cure.map { "\($0); \(kept)" } ?? kept
    return failure
  }

  /// The same failure with the status that env(1) has for whatever keeps it from starting a command.
  var beforeCommand: Failure {
    guard !isAfterStart, ![.commandNotFound, .cannotExecute, .interrupted].contains(status) else { return self }
    var failure = self
    failure.status = .notStarted
    return failure
  }

  /// Two lines for people: what, and what to try.
  var text: String {
    var line = "coffer: "
    if let key { line += "'\(Printable.line(key))': " }
    line += Printable.line(what)
    if let place { line += " (\(Printable.line(place)))" }
    if let detail { line += ": \(Printable.line(detail))" }
    if let cure { line += "\n  try: \(Printable.line(cure))" }
    return line
  }
}

extension Failure {
  /// The failure that `error` means to the caller; nil for one of the parser's.
  static func of(_ error: any Error) -> Failure? {
    switch error {
    case let error as Failure: error
    case let error as StoreError: Failure(error)
    case let error as SecretMemoryError: Failure(StoreError(memory: error))
    case let error as CocoaError:
      Failure(StoreError(.io(EIO), "a file could not be handled", cure: "see the cause", underlying: error))
    case let error as Errno: Failure(StoreError(errno: error.rawValue, "finish", place: "a file"))
    default: nil
    }
  }
}
