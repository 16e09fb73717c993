/// The names under which this program is a helper of other programs: they find it on PATH by its name alone.
enum ProgramName {
  static let helpers: [String: [String]] = [
    "git-credential-coffer": ["credential", "git"], "docker-credential-coffer": ["credential", "docker"],
  ]

  /// The words of the command line `words`, whose first is the program's name.
  static func arguments(_ words: [String]) -> [String] {
    let name = words.first?.split(separator: "/").last.map(String.init) ?? ""
    return (helpers[name] ?? []) + words.dropFirst()
  }
}
