internal import Coffer
internal import CofferFormats
internal import CofferPlatform
internal import CofferTerminal
internal import SystemPackage

struct GitHelperSetting {
  private let context: Context
  private let helper: String

  init(_ context: Context) throws {
    self.context = context
    let name = "git-credential-coffer"
    do throws(Failure) {
      helper = try Self.value(program: Executable.find(ByteWord(name), path: ProcessEnvironment.word("PATH")).text)
    } catch {
      throw StoreError(
        .notFound, "\(name), which git would start, is not on PATH", cure: "coffer install, and its folder on PATH")
    }
  }

  /// The value for the helper at `program`: its path, unless even a cron job finds it by name.
  static func value(program: String) -> String {
    let isFoundAlways = ["/usr/bin/", "/bin/"].contains { program == $0 + "git-credential-coffer" }
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
    context.note("git asks coffer alone for \(host) from now on: \(key)")
  }

  private static func isStore(_ value: String) -> Bool { value == "store" || value.hasPrefix("store ") }

  private func add(to key: String, _ values: [String]) throws {
    let effective = values.suffix(after: \.isEmpty)
    guard !effective.contains(helper) else { return }
    if effective.contains("coffer") {
      try GitConfig.replace("coffer", of: key, with: helper)
    } else {
      try GitConfig.add(helper, to: key)
    }
    context.note("git asks coffer from now on: git config --global --add \(key) \(Self.quoted(helper))")
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
    context.note("git goes on asking \(value), which keeps passwords in the clear: git config --global --get-all \(key)")
  }

  /// `word` as a person types it in a shell.
  static func quoted(_ word: String) -> String { word.contains("\\") ? "'\(word)'" : word }
}

extension [String] {
  fileprivate func suffix(after ends: (String) -> Bool) -> ArraySlice<String> {
    self[(lastIndex(where: ends).map { $0 + 1 } ?? startIndex)...]
  }
}
