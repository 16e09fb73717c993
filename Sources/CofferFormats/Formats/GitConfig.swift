internal import Coffer
internal import CofferPlatform
internal import CofferTerminal

/// Read and written by git itself.
package enum GitConfig {
  package struct Setting { package let key: String, value: String }

  package static let helper = "credential.helper"
  /// Most bytes of git's output: some hundred settings.
  private static let most = 65_536

  /// All helpers, global and for single servers, in git's order; none without git.
  package static func helpers(included: Bool = false) throws -> [Setting] {
    guard ProgramPath.lacks("git") == nil else { return [] }
    let words = [included ? "--includes" : "--no-includes", "-z", "--get-regexp", #"^credential\.(.*\.)?helper$"#]
    return try read(words).split(separator: "\0").map { line in
      let parts = line.split(separator: "\n", maxSplits: 1)
      return Setting(key: String(parts.first ?? ""), value: parts.count > 1 ? String(parts[1]) : "")
    }
  }

  static func sendsPath(of url: String) throws -> Bool {
    guard ProgramPath.lacks("git") == nil else { return false }
    return try read(["--includes", "--bool", "--get-urlmatch", "credential.useHttpPath", url]).hasPrefix("true")
  }

  package static func add(_ value: String, to key: String) throws { try write(["--add", key, value]) }

  package static func replace(_ old: String, of key: String, with value: String) throws {
    try write(["--replace-all", key, value, pattern(old)])
  }

  package static func remove(_ value: String, from key: String) throws { try write(["--unset-all", key, pattern(value)]) }

  /// The expression that matches only `value`. Source: git-config(1), `value-pattern`; regex(7).
  private static func pattern(_ value: String) -> String {
    "^" + value.map { #"\.^$*+?()[]{}|"#.contains($0) ? "\\\($0)" : String($0) }.joined() + "$"
  }

  private static func read(_ words: [String]) throws -> String {
    try run(words).output.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  private static func write(_ words: [String]) throws {
    guard try run(words).status == 0 else {
      throw StoreError(
        .io(EIO), "git did not take the setting", place: words[1],
        cure: "git config --global \(words[1]) \(words[2]) by hand, then coffer doctor --fix again")
    }
  }

  private static func run(_ words: [String]) throws -> BoundedCommand {
    try BoundedCommand.run(["git", "config", "--global"] + words, input: SecretBytes(zeros: 0), limit: most)
  }
}
