package import Coffer
internal import CofferVault
internal import CofferPlatform

/// Reads secrets that the command line names, by the calls that the library reads its own with.
package enum SecretReader {
  /// Bytes of a value, at most: what a vault takes.
  package static let largestValue = VaultItem.largestValue

  /// Everything that `descriptor` delivers, whose number the command line names. A number that was not open when the program
  /// started may by now be that of a file of its own, such as the vault, which must not become a value.
  package static func given(_ descriptor: Int32, limit: Int, what: String, place: String) throws -> SecretBytes {
    guard Hardening.wasGiven(descriptor) else { throw notOpen(descriptor) }
    return try read(descriptor, limit: limit, what: what, place: place)
  }

  private static func notOpen(_ descriptor: Int32) -> Failure {
    .usage("descriptor \(descriptor) is not open for reading", try: "N<FILE in the shell")
  }

  /// Everything that `descriptor` delivers: see `SecretFile`.
  ///
  /// - Throws: a usage failure for a descriptor that is not open.
  package static func read(_ descriptor: Int32, limit: Int, what: String, place: String) throws -> SecretBytes {
    do throws(StoreError) { return try SecretFile.read(descriptor, limit: limit, what: what, place: place) } catch {
      throw error.kind == .io(EBADF) ? notOpen(descriptor) : Failure(error)
    }
  }

  /// The content of the file at `path`. The owner is told of a file that others can read.
  ///
  /// - Parameter warning: false where it may hold no secret after all: see ``warn(ofFileAt:)``.
  package static func file(_ path: String, limit: Int, what: String, warning: Bool = true) throws -> SecretBytes {
    try GivenPath.check(path)
    do throws(StoreError) {
      return try SecretFile.content(of: FilePath(path), limit: limit, what: what, warning: warning)
    } catch {
      throw Failure(error)
    }
  }

  /// Tells the owner of a file that others can read.
  package static func warn(ofFileAt path: String) { SecretFile.warn(ofFileAt: FilePath(path)) }

  /// `read(2)`, again when a signal came in between.
  package static func readOnce(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    SecretFile.readOnce(descriptor, buffer, count)
  }
}

/// Standard input serves one purpose in a command: what is read twice is empty the second time, and an empty passphrase or
/// value would be the result.
package final class StandardInput {
  private var owner: String?

  package init() {}

  /// Reserves standard input for `what`, before anything is read from it.
  package func claim(for what: String) throws(Failure) {
    if let owner {
      throw .usage("both \(owner) and \(what) would come from standard input", try: "a file or a descriptor for one of them")
    }
    owner = what
  }
}
