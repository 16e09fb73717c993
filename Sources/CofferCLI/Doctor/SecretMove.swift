internal import CofferFormats
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault
internal import SystemPackage

/// Moves the entries of one file into the vault. At any interruption each entry is in the file, the vault or both: the file
/// is written only after the vault has returned each value.
struct SecretMove {
  let file: CredentialFile
  let format: ImportFormat
  let context: Context
  /// Called only once something can move: the vault may have to be unlocked.
  let items: () throws -> VaultItems
  let ask: (String) throws -> Bool
  /// With the reason why the entry stays in the file; nil if it moved.
  let tell: (String, String?) throws -> Void

  private enum Held {
    case nothing, all
    /// The value, and not yet all of the attributes.
    case value
    /// Another value or attribute under the same name.
    case other
  }

  private struct Entry {
    let items: [ImportedItem]
    let cuts: [ImportedEntry.Cut]
    /// Why it has to stay; nil if it may go.
    let obstacle: String?
    var name: ItemName { items[0].name }
    /// `protocol://host` of an entry of git's.
    var server: String {
      let service = name.service
      guard let scheme = service.firstRange(of: "://") else { return service }
      return String(service[..<scheme.upperBound] + service[scheme.upperBound...].prefix { $0 != "/" })
    }
  }

  func run() throws {
    let opened: ScrubbedFile
    do { opened = try ScrubbedFile.open(file.path) } catch { return try tell(file.path.string, Self.reason(error)) }
    guard let entries = try entries(opened.text, opened.path.string) else { return }
    let chosen = try choose(entries, try wayBarred(opened.text, opened.path.string))
    guard !chosen.isEmpty else { return }
    try store(chosen)
    if format == .gitCredentials { try GitHelperSetting(context).add() }
    var cuts = chosen.flatMap(cuts)
    if format == .docker { cuts += try DockerHelperSetting.cuts(opened.text, opened.path.string) }
    if try !replace(opened, cuts) {
      context.note("\(opened.path) was rewritten, but its old content may still be on the disk: the file has another name")
    }
    for entry in chosen { try tell(entry.name.description, nil) }
    if format == .gitCredentials { try GitHelperSetting(context).settle() }
    if let afterwards = file.afterwards, chosen.count == entries.count {
      context.note("\(file.program) no longer finds anything there: \(afterwards)")
    }
  }

  /// The cuts of `entry`. In the place of its key, aws finds the command that gives it.
  private func cuts(of entry: Entry) -> [ImportedEntry.Cut] {
    var cuts = entry.cuts
    if format == .aws, !cuts.isEmpty {
      cuts[0].stub = "credential_process = coffer helper aws \(CommandText.quoted(entry.name.account))\n"
    }
    return cuts
  }

  /// Writes git's own file under git's lock.
  private func replace(_ opened: borrowing ScrubbedFile, _ cuts: [ImportedEntry.Cut]) throws -> Bool {
    guard format == .gitCredentials else { return try opened.replace(cuts) }
    let lock = try GitLock.take(opened.path)
    let isOverwritten = try opened.replace(cuts)
    lock.end()
    return isOverwritten
  }

  /// Nil if none can be cut out, which is reported.
  private func entries(_ text: borrowing SecretBytes, _ place: String) throws -> [Entry]? {
    let found: ImportedEntries
    do {
      let decoded = try ImportText.read(text.duplicate(), place: place)
      guard decoded.isEqual(to: text) else {
        try tell(file.path.string, "it is not plain UTF-8")
        return nil
      }
      found = try format.entries(in: text, place: place)
    } catch {
      // As for an import, without an import's advice.
      try tell(file.path.string, Self.reason(error))
      return nil
    }
    for part in found.leftOut where !part.isElsewhere { try tell("\(place): \(part.entry)", part.reason) }
    let made = try EntryItems(found)
    return try zip(found.entries, made.parts).compactMap { entry, part in
      guard !part.items.isEmpty else { return nil }
      let parts = part.isWhole ? nil : "it has more than an item may hold"
      let unasked = format == .gitCredentials ? try GitCredentialsFile.obstacle(entry) : nil
      let obstacle = entry.cuts.isEmpty ? "it is unclear where it ends in the file" : parts ?? unasked
      return Entry(items: Array(made.items[part.items]), cuts: entry.cuts, obstacle: obstacle)
    }
  }

  static func reason(_ error: any Error) -> String {
    guard let failure = Failure.of(error) else { return "\(error)" }
    return failure.detail.map { "\(failure.what): \($0)" } ?? failure.what
  }

  /// The entries that may go and that the user chooses.
  ///
  /// - Parameter obstacle: the reason why none of them may go.
  private func choose(_ entries: [Entry], _ obstacle: String?) throws -> [Entry] {
    var (chosen, kept) = ([Entry](), 0)
    var keptServers: Set<String> = []
    for entry in entries {
      // git asks coffer first: of two users of one server it would get the second.
      let server = format == .gitCredentials ? entry.server : nil
      let follows = server.map(keptServers.contains) ?? false ? "a line above it stays, and git takes that user first" : nil
      if let reason = try obstacle ?? entry.obstacle ?? follows ?? refusal(entry) {
        kept += 1
        if let server { keptServers.insert(server) }
        try tell(entry.name.description, reason)
      } else {
        chosen.append(entry)
      }
    }
    // docker asks its helper for all servers, so that it would no longer find entries that stay in the file.
    guard format == .docker, kept > 0 else { return chosen }
    for entry in chosen { try tell(entry.name.description, "docker keeps all credentials in its helper or none") }
    return []
  }

  private func wayBarred(_ text: borrowing SecretBytes, _ place: String) throws -> String? {
    switch format {
    case .gitCredentials: ProgramPath.lacks("git-credential-coffer")
    case .aws: Self.otherSource(text) ?? ProgramPath.lacks("coffer")
    case .docker: try DockerHelperSetting.obstacle(text, place) ?? ProgramPath.lacks("docker-credential-coffer")
    default: nil
    }
  }

  /// Why the helper would not be the only source of a profile in the credentials `text`: aws refuses a name that is there
  /// twice.
  private static func otherSource(_ text: borrowing SecretBytes) -> String? {
    let profiles = text.withUnsafeBytes { String(decoding: $0, as: UTF8.self).lowercased() }.split(separator: "\n[")
    let isBoth = profiles.contains { $0.contains("aws_secret_access_key") && $0.contains("credential_process") }
    guard isBoth else { return nil }
    return "a profile has a key and a credential_process: remove one of them"
  }

  private func refusal(_ entry: Entry) throws -> String? {
    for item in entry.items where try held(item) == .other { return "the vault has another value of that name" }
    return try ask("Move \(entry.name) from \(file.path) into the vault?") ? nil : "you said no"
  }

  private func held(_ item: ImportedItem) throws -> Held {
    let there: SecretForm?
    do { there = try items().get(item.name) } catch let error as StoreError where error.kind == .expired { return .other }
    guard let there else { return .nothing }
    let (has, said) = (there.metadata.attributes, Self.attributes(of: item))
    let isSame =
      there.bytes.isEqual(to: item.form.bytes) && said.allSatisfy { name, value in has[name]?.hasSameBytes(as: value) ?? true }
    guard isSame else { return .other }
    return said.keys.allSatisfy { has[$0] != nil } ? .all : .value
  }

  /// The file's facts about the item beside its secrets, which are lost once the entry is cut. The address is in the name
  /// too.
  private static func attributes(of item: ImportedItem) -> [String: String] {
    item.form.metadata.attributes.filter { $0.key != "url" }
  }

  /// Stores the entries, the first one last: of several users of one server git gets the last one written, and got the
  /// file's first one.
  private func store(_ entries: [Entry]) throws {
    let users = Dictionary(grouping: entries, by: \.name.service).mapValues(\.count)
    for entry in entries.reversed() {
      let isOneOfSeveral = format == .gitCredentials && users[entry.name.service, default: 0] > 1
      try store(entry, again: isOneOfSeveral)
      // The vault's times have milliseconds.
      if isOneOfSeveral { usleep(2_000) }
    }
  }

  /// In one transaction, and reads it back.
  private func store(_ entry: Entry, again: Bool) throws {
    let changes = try entry.items.compactMap { item -> ItemChange? in
      switch try held(item) {
      case .nothing: return .set(item.form, for: item.name, if: .absent)
      case .all where !again, .other: return nil
      case .value, .all:
        var form = try items().value(of: item.name)
        form.metadata.attributes.merge(Self.attributes(of: item)) { has, _ in has }
        return again ? .set(form, for: item.name) : .describe(item.name, as: form.metadata)
      }
    }
    if !changes.isEmpty { try items().apply(changes) }
    for item in entry.items where try held(item) != .all {
      throw StoreError(
        .conflict, "the vault did not return the stored value", key: item.name.description, place: file.path.string,
        cure: "coffer vault verify; nothing was removed from the file")
    }
  }
}

/// The lock that git's `store` holds from reading its file to replacing it. Under the lock no line of git's is lost, and no
/// removed line comes back. Signals that would leave the lock behind wait meanwhile.
///
/// Source: `lockfile.h` and `builtin/credential-store.c` of github.com/git/git.
struct GitLock: ~Copyable {
  private let file: FilePath
  private let signals: HeldSignals

  /// Locks the file at `path`, which is no symbolic link: git follows one first.
  ///
  /// - Throws: `.conflict` if git has the lock; `.io`, `.denied` if none can be made.
  static func take(_ path: FilePath) throws -> GitLock {
    let signals = HeldSignals([SIGINT, SIGTERM, SIGHUP, SIGQUIT])
    let file = FilePath(path.string + ".lock")
    let descriptor = coffer_open(file.string, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      guard errno == EEXIST else { throw StoreError(errno: errno, "make git's lock", place: file) }
      throw StoreError(
        .conflict, "git is writing to the file", place: path.string,
        cure: "coffer doctor --fix again; if no git is running, a killed one left \(file.string): remove it first")
    }
    close(descriptor)
    return GitLock(file: file, signals: signals)
  }

  consuming func end() {}

  deinit { file.withPlatformString { _ = unlink($0) } }
}
