internal import Coffer
internal import CofferMemory
package import CofferPlatform
internal import FoundationEssentials
package import SystemPackage

/// Why a command stops, its cure and its exit status. Never holds a value.
package struct Failure: Error {
  package private(set) var status: ExitStatus
  package let kind: String
  package let what: String
  package var key: String?
  package var place: String?
  package var cure: String?
  package var detail: String?
  private var isAfterStart = false

  package init(_ error: StoreError) {
    status = error.kind.exitStatus
    kind = error.kind.word
    what = error.what
    key = error.key
    place = error.place
    cure = error.commandCure
    detail = error.inCommandWords.underlying.map { "\($0)" }
  }

  package init(_ status: ExitStatus, kind: String, _ what: String, cure: String?) {
    (self.status, self.kind, self.what, self.cure) = (status, kind, what, cure)
  }

  package static func usage(_ what: String, try cure: String) -> Failure { Failure(.usage, kind: "usage", what, cure: cure) }
  /// Control-C at a prompt.
  package static let interrupted = Failure(.interrupted, kind: "interrupted", "interrupted", cure: nil)
  /// SIGTERM while watching.
  package static let terminated = Failure(.terminated, kind: "terminated", "terminated", cure: nil)
  /// Not reported: `coffer list | head -1` is no mistake.
  package static let pipeClosed = Failure(.pipeClosed, kind: "pipeClosed", "the reader closed the pipe", cure: nil)
  /// Reported after the work is done.
  package static func unwritable(_ code: Int32, place: FilePath) -> Failure {
    let error = StoreError(errno: code, "write the output", place: place)
    return Failure(
      StoreError(
        error.kind, error.what, place: error.place,
        cure: "check where the output goes; the command's change was made", underlying: error.underlying))
  }
  /// An internal check failed.
  package static func claim(_ what: String) -> Failure {
    Failure(.failed, kind: "failed", what, cure: "please report this with the output above")
  }

  /// Everything was reported already.
  package static func said(_ status: ExitStatus) -> Failure { Failure(status, kind: "said", "", cure: nil) }

  package var isQuiet: Bool { status == .pipeClosed || kind == "said" }

  package var sentence: String { what.asSentence + "." }

  /// After a command was started; before, it has another status.
  package var afterStart: Failure {
    var failure = self
    failure.isAfterStart = true
    return failure
  }

  /// For a command whose new key file stays at `path`.
  package func keeping(keyFile path: String) -> Failure {
    var failure = self
    let kept = "keep the new key file \(path): the vault may need it"
    failure.cure = cure.map { "\($0); \(kept)" } ?? kept
    return failure
  }

  /// env(1)'s status for a command that was not started.
  package var beforeCommand: Failure {
    guard !isAfterStart, ![.commandNotFound, .cannotExecute, .interrupted].contains(status) else { return self }
    var failure = self
    failure.status = .notStarted
    return failure
  }

  /// Two lines for a log: what happened, and the cure.
  package var text: String {
    Printable.withoutPasswords(
      "coffer: " + (key.map { "'\(Printable.line($0))': " } ?? "") + story + (cure.map { "\n  try: \(Printable.line($0))" } ?? "")
    )
  }

  var story: String {
    Printable.line(what) + (place.map { " (\(Printable.line($0)))" } ?? "") + (detail.map { ": \(Printable.line($0))" } ?? "")
  }

  /// The question at the beginning of the cure (`did you mean github.com?`), if any, and the rest of it.
  package var meaning: (question: String?, rest: String) {
    let cure = Printable.line(cure ?? "")
    guard cure.hasPrefix(LikelyNames.asked), let end = cure.firstIndex(of: "?") else { return (nil, cure) }
    return (String(cure[...end]), String(cure[cure.index(after: end)...].drop { " ;".contains($0) }))
  }
}

extension Failure {
  /// Nil for an error of the parser.
  package static func of(_ error: any Error) -> Failure? {
    switch error {
    case let error as Failure: error
    case let error as StoreError: Failure(error)
    case let error as SecretMemoryError: Failure(StoreError(memory: error))
    case let error as CocoaError:
      Failure(StoreError(.io(EIO), "a file operation failed", cure: "see the cause", underlying: error))
    case let error as Errno: Failure(StoreError(errno: error.rawValue, "finish", place: "a file"))
    default: nil
    }
  }
}
