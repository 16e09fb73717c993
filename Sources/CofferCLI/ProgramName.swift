/// The names under which this program is a helper of other programs: they find it on PATH by its name alone.
enum ProgramName {
  static let helpers: [String: [String]] = [
    "git-credential-coffer": ["credential", "git"], "docker-credential-coffer": ["credential", "docker"],
  ]

  /// The words of the command line `words`, whose first is the program's name.
  static func arguments(_ words: [String]) -> [String] {
    let name = words.first?.split(separator: "/").last.map(String.init) ?? ""
    // Docker's own helpers know these, and the parser would take them for its own.
    if name == "docker-credential-coffer", words.count == 2, ["-v", "--version"].contains(words[1]) {
      return ["credential", "docker", "version"]
    }
    return (helpers[name] ?? []) + words.dropFirst()
  }
}
