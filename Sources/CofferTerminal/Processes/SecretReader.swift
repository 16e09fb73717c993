package import Coffer
internal import CofferVault
internal import CofferPlatform

/// Reads secrets named on the command line, by the library's calls.
package enum SecretReader {
  package static let largestValue = VaultItem.largestValue

  /// Reads a descriptor from the command line. One that was not open when the program started may now be the program's own
  /// file, such as the vault, which must not become a value.
  package static func given(_ descriptor: Int32, limit: Int, what: String, place: String) throws -> SecretBytes {
    guard Hardening.wasGiven(descriptor) else { throw notOpen(descriptor) }
    return try read(descriptor, limit: limit, what: what, place: place)
  }

  /// A secret from standard input, or from the prompt if that is a terminal.
  package static func answer(to question: Question, limit: Int, what: String) throws -> SecretBytes {
    guard isatty(STDIN_FILENO) == 1 else {
      return try given(STDIN_FILENO, limit: limit, what: what, place: "standard input").withoutTrailingNewline(.lineFeed)
    }
    guard let terminal = Terminal() else { throw Failure.usage("\(what) is missing", try: "standard input") }
    return try terminal.secret(question)
  }

  private static func notOpen(_ descriptor: Int32) -> Failure {
    .usage("descriptor \(descriptor) is not open for reading", try: "N<FILE in the shell")
  }

  /// All content of `descriptor`: see `SecretFile`.
  ///
  /// - Throws: a usage failure for a descriptor that is not open.
  package static func read(_ descriptor: Int32, limit: Int, what: String, place: String) throws -> SecretBytes {
    do throws(StoreError) { return try SecretFile.read(descriptor, limit: limit, what: what, place: place) } catch {
      throw error.kind == .io(EBADF) ? notOpen(descriptor) : Failure(error)
    }
  }

  /// The content of `path`. Warns the owner if others can read it.
  ///
  /// - Parameter warning: false if it may hold no secret after all: see ``warn(ofFileAt:)``.
  package static func file(_ path: String, limit: Int, what: String, warning: Bool = true) throws -> SecretBytes {
    try GivenPath.check(path)
    do throws(StoreError) {
      return try SecretFile.content(of: FilePath(path), limit: limit, what: what, warning: warning)
    } catch { throw Failure(error) }
  }

  package static func warn(ofFileAt path: String) { SecretFile.warn(ofFileAt: FilePath(path)) }

  /// `read(2)`, restarted after signals.
  package static func readOnce(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    SecretFile.readOnce(descriptor, buffer, count)
  }
}

/// Standard input serves one purpose in a command: a second read would give an empty passphrase or value.
package final class StandardInput {
  private var owner: String?

  package init() {}

  /// Reserves it before it is read.
  package func claim(for what: String) throws(Failure) {
    if let owner {
      throw .usage("\(owner) and \(what) cannot both come from standard input", try: "a file or a descriptor for one of them")
    }
    owner = what
  }
}
