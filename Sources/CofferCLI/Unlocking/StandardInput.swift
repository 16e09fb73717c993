/// Standard input serves one purpose in a command: what is read twice is empty the second time, and an empty passphrase or
/// value would be the result.
final class StandardInput {
  private var owner: String?

  /// Reserves standard input for `what`, before anything is read from it.
  func claim(for what: String) throws(Failure) {
    if let owner {
      throw .usage("both \(owner) and \(what) would come from standard input", try: "a file or a descriptor for one of them")
    }
    owner = what
  }
}
