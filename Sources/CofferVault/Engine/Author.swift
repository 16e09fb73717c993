package import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat

package struct Author: Sendable, Equatable {
  let user: UInt32
  let process: UInt32
  let program: String

  package init(user: UInt32, process: UInt32, program: String) {
    self.user = user
    self.process = process
    self.program = program
  }

  /// The author of a new entry: this process, or the author it acts for.
  static var current: Author {
    represented ?? Author(user: UInt32(getuid()), process: UInt32(getpid()), program: name)
  }

  @TaskLocal private static var represented: Author?

  // The program's name, never its path. Cached, because a transaction may have many entries.
  private static let name: String = {
    let place = CommandLine.arguments.first ?? ""
    return place.split(separator: "/").last.map(String.init) ?? ""
  }()

  /// Runs `body`, which changes vaults at the author's request, and logs the author.
  package func represented<Answer>(_ body: () throws(StoreError) -> Answer) throws(StoreError) -> Answer {
    // `withValue` rethrows untyped errors, so they are passed as a result.
    let outcome: Result<Answer, StoreError> = Self.$represented.withValue(self) {
      do throws(StoreError) { return .success(try body()) } catch { return .failure(error) }
    }
    return try outcome.get()
  }
}

extension LogEntry {
  package init(_ event: Event, by author: Author, time: UInt64, index: RecordIndex = .zero, detail: [UInt8] = []) {
    self.init(
      event, time: time, user: author.user, process: author.process, program: author.program, index: index, detail: detail)
  }
}
