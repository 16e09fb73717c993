package import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows

/// The writer of a log entry: user, process and program name.
package struct Author: Sendable, Equatable {
  let user: UInt32
  let process: UInt32
  let program: String

  package init(user: UInt32, process: UInt32, program: String) {
    self.user = user
    self.process = process
    self.program = program
  }

  /// Whom an entry that is made now names: this process, unless it acts for another one.
  static var current: Author {
    represented ?? Author(user: UInt32(getuid()), process: UInt32(getpid()), program: name)
  }

  @TaskLocal private static var represented: Author?

  // The last part of the first argument, never a path. Found once: a transaction of many writes has as many entries.
  private static let name: String = {
    let place = CommandLine.arguments.first ?? ""
    return place.split(separator: "/").last.map(String.init) ?? ""
  }()

  /// Runs `body`, in which this process changes vaults because the author asked for it: the log names the author.
  package func represented<Answer>(_ body: () throws(StoreError) -> Answer) throws(StoreError) -> Answer {
    // A task-local value is lent by a function whose errors have lost their type: they take another way.
    let outcome: Result<Answer, StoreError> = Self.$represented.withValue(self) {
      do throws(StoreError) { return .success(try body()) } catch { return .failure(error) }
    }
    return try outcome.get()
  }
}

extension LogEntry {
  /// An entry by `author`.
  package init(_ event: Event, by author: Author, time: UInt64, index: RecordIndex = .zero, detail: [UInt8] = []) {
    self.init(
      event, time: time, user: author.user, process: author.process, program: author.program, index: index, detail: detail)
  }
}
