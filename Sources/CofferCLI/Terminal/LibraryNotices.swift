internal import Logging

/// What the library has to say besides errors, as lines `coffer: note: …` on standard error.
struct LibraryNotices: LogHandler {
  var logLevel: Logger.Level
  var metadata: Logger.Metadata = [:]

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) { Output.message("coffer: note: \(Printable.line("\(event.message)"))") }

  /// May be called once in a process, as `LoggingSystem` demands.
  static func bootstrap(quiet: Bool) {
    LoggingSystem.bootstrap { _ -> any LogHandler in
      quiet ? SwiftLogNoOpLogHandler() as any LogHandler : LibraryNotices(logLevel: .notice)
    }
  }
}
