internal import CofferFormats
internal import CofferPlatform
internal import CofferTerminal
internal import SystemPackage

struct GitHelperSetting {
  private let context: Context
  private let helper: String

  static let name = "git-credential-coffer"

  init(_ context: Context) throws {
    guard let found = Self.found else {
      throw StoreError(
        .notFound, "\(Self.name), which git starts, is not on PATH", cure: "coffer install, and its folder on PATH")
    }
    self.init(context, program: found)
  }

  init(_ context: Context, program: String) { (self.context, helper) = (context, Self.value(program: program)) }

  /// The helper on PATH.
  static var found: String? { ProgramPath.find(name) }

  /// The value for the helper at `program`: its path, unless even a cron job finds it by name.
  static func value(program: String) -> String {
    let isFoundAlways = ["/usr/bin/", "/bin/"].contains { program == $0 + name }
    guard !isFoundAlways, program.hasPrefix("/") else { return "coffer" }
    // A shell reads it.
    return program.map { $0.isLetter || $0.isNumber || "/._-+@%,:".contains($0) ? String($0) : "\\\($0)" }.joined()
  }

  func add() throws {
    let settings = Dictionary(grouping: try GitConfig.helpers(), by: \.key).mapValues { $0.map(\.value) }
    try add(to: GitConfig.helper, settings[GitConfig.helper] ?? [])
    // An empty value cancels the values before it, for the servers of its key.
    for (key, values) in settings where key != GitConfig.helper && values.contains("") && values.contains(where: Self.isStore) {
      try add(to: key, values)
    }
  }

  func add(to host: String) throws {
    let key = "credential.https://\(host).helper"
    let values = try GitConfig.helpers().filter { $0.key == key }.map(\.value)
    guard values.suffix(after: \.isEmpty) != [helper] || !values.contains("") else { return }
    // An empty value cancels the values before it.
    for value in ["", helper] { try GitConfig.add(value, to: key) }
    context.told("git now asks only coffer for \(host): \(key)")
  }

  private static func isStore(_ value: String) -> Bool { value == "store" || value.hasPrefix("store ") }

  private func add(to key: String, _ values: [String]) throws {
    let effective = values.suffix(after: \.isEmpty)
    guard !effective.contains(helper) else { return }
    // Of an older install, or by name.
    if let other = effective.first(where: { $0 == "coffer" || $0.hasPrefix("/") && $0.hasSuffix("/" + Self.name) }) {
      try GitConfig.replace(other, of: key, with: helper)
    } else {
      try GitConfig.add(helper, to: key)
    }
    context.told("git now asks coffer: git config --global --add \(key) \(Self.quoted(helper))")
  }

  /// Removes useless settings, and limits each `store` to the servers in its files: git writes each used password to all its
  /// helpers.
  func settle() throws {
    let search = SecretSearch(context: context)
    let own = try search.gitStores(included: false)
    for store in try search.gitStores(included: true) {
      // A setting in an included file may be meant for other machines too.
      let isOwn = own.contains { $0.key == store.key && $0.value == store.value }
      guard isOwn, let servers = try store.servers() else {
        tell(store.key, store.value)
        continue
      }
      if store.key == GitConfig.helper {
        for server in servers.sorted() { try narrow(store, to: server) }
      } else if store.serves(servers) {
        continue
      }
      try GitConfig.remove(store.value, from: store.key)
    }
  }

  private func narrow(_ store: GitStore, to server: String) throws {
    let key = "credential.\(server).helper"
    guard try !GitConfig.helpers().contains(where: { $0.key == key && $0.value == store.value }) else { return }
    try GitConfig.add(store.value, to: key)
    tell(key, store.value)
  }

  private func tell(_ key: String, _ value: String) {
    context.note("git still asks \(value), which keeps passwords in the clear: git config --global --get-all \(key)")
  }

  /// `word` as a person types it in a shell.
  static func quoted(_ word: String) -> String { word.contains("\\") ? "'\(word)'" : word }
}

extension [String] {
  fileprivate func suffix(after ends: (String) -> Bool) -> ArraySlice<String> {
    self[(lastIndex(where: ends).map { $0 + 1 } ?? startIndex)...]
  }
}

/// A `store` helper in git's configuration, by which git keeps credentials in the clear.
struct GitStore {
  /// `credential.helper`, or `credential.URL.helper` for some servers.
  let key: String
  let value: String
  /// Its files; nil if only a shell can tell.
  let files: [FilePath]?

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
