internal import Coffer
internal import CofferFormats
internal import CofferPlatform
internal import CofferTerminal
internal import SystemPackage

/// A `store` helper in git's configuration, by which git keeps credentials in the clear.
struct GitStore {
  /// `credential.helper`, or `credential.URL.helper` for some servers.
  let key: String
  let value: String
  /// Its files; nil if only a shell can tell.
  let files: [FilePath]?

  /// - Parameter standard: the files of a `store` without an option.
  init?(_ setting: GitConfig.Setting, home: FilePath, standard: [FilePath]) {
    let words = setting.value.split(separator: " ")
    guard words.first == "store" else { return nil }
    (key, value) = (setting.key, setting.value)
    files = words.count == 1 ? standard : Self.path(words.dropFirst(), home).map { [$0] }
  }

  /// The path after `--file`, as git's shell reads it: a tilde at the beginning of a word is the home folder.
  private static func path(_ words: ArraySlice<Substring>, _ home: FilePath) -> FilePath? {
    let path: Substring
    switch (words.count, words.first) {
    case (2, "--file"): path = words[words.endIndex - 1]
    case (1, let word?) where word.hasPrefix("--file=/"): path = word.dropFirst("--file=".count)
    default: return nil
    }
    let isPlain = path.dropFirst().allSatisfy { $0.isLetter || $0.isNumber || "/._-+@%,:".contains($0) }
    guard isPlain, path.hasPrefix("/") || path.hasPrefix("~/") else { return nil }
    return path.hasPrefix("/") ? FilePath(String(path)) : home.pushing(FilePath(String(path.dropFirst(2))))
  }

  /// The servers, `protocol://host`, of the credentials in its files; nil if a line or a file cannot be read.
  func servers() throws -> Set<String>? {
    guard let files else { return nil }
    var servers = Set<String>()
    for file in files where !FileFacts.isAbsent(file) {
      let found: ImportedEntries
      do { found = try GitCredentialsFile.read(ScrubbedFile.open(file).text, place: file.string) } catch is StoreError {
        return nil
      }
      for entry in found.entries {
        guard let server = GitCredentialsFile.server(entry) else { return nil }
        servers.insert(server)
      }
      guard found.leftOut.isEmpty else { return nil }
    }
    return servers
  }

  /// Whether this store, limited to some servers, serves one of `servers`, as far as its key tells.
  func serves(_ servers: Set<String>) -> Bool {
    let url = key.dropFirst("credential.".count).dropLast(".helper".count)
    // A pattern, a user or a bare host may stand for any of them.
    guard url.contains("://"), !url.contains("*"), !url.contains("@") else { return !servers.isEmpty }
    return servers.contains { $0.hasPrefix(url) || url.hasPrefix($0) }
  }
}

extension CredentialFile {
  /// The standard files of git's `store`. Source: git-credential-store(1), "FILES".
  static func gitStandard(home: FilePath, config: FilePath) -> [FilePath] {
    [home.appending(".git-credentials"), config.appending("git").appending("credentials")]
  }
}
