internal import CofferFormats
internal import CofferPlatform
internal import CofferSecretService
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault
internal import SystemPackage

struct ImportSource {
  /// The limit of a file in bytes: some hundred thousand items. Guarded memory holds it whole.
  static let largestFile = 64 << 20

  struct Found {
    let format: ImportFormat
    let place: String
    var items: [ImportedItem]
    var leftOut: [LeftOut] = [], renamed: [String] = []
    /// What the vault holds already, under these names.
    var unchanged: [ItemName] = []

    /// Removes attributes that only Coffer may set. A login from a file would be renewed at the file's server, with this
    /// vault's secrets for it.
    fileprivate func withoutLogins() -> Found {
      let logins = Set(
        items.filter { $0.form.metadata.isOfLogin || AuthAccounts.isOwn(service: $0.name.service) }.map(\.name.item))
      var found = self
      found.leftOut += logins.sorted().map { LeftOut($0.description, LeftOut.login) }
      found.items = items.filter { !logins.contains($0.name.item) }.map { item in
        let metadata = item.form.metadata
        guard !metadata.ownAttributes.isEmpty else { return item }
        found.leftOut.append(LeftOut(item.name.description, LeftOut.own, count: metadata.ownAttributes.count))
        var free = metadata
        free.attributes = metadata.freeAttributes
        return ImportedItem(name: item.name, form: item.form.with(free), created: item.created, modified: item.modified)
      }
      return found
    }
  }

  let format: ImportFormat?
  /// A file, a folder, or `-`; nil for the program's usual place.
  let path: String?
  /// The service for variables.
  let service: String?
  let firstLineOnly: Bool
  let other: OtherVaultOptions
  let acceptsOlderKey: Bool
  let context: Context

  private var file: String { path ?? format?.usualPlace ?? "" }

  private var otherVault: OtherVault? {
    guard (format ?? Self.format(ofFileAt: file)) == .coffer else { return nil }
    return OtherVault(path: file, options: other, acceptsOlderKey: acceptsOlderKey, context: context)
  }

  /// Refuses a program's name in place of a file, and a folder that is no store, before a passphrase is asked for.
  func check() throws {
    if let path, FileFacts.isAbsent(FilePath(path)), let program = ImportFormat(rawValue: path.lowercased()) {
      throw Failure.usage(
        "there is no file '\(path)', and \(program.rawValue) is a program",
        try: "--from \(program.rawValue)? coffer import --from \(program.rawValue)\(program.hasUsualPlace ? "" : " FILE")")
    }
    if [.pass, .gopass].contains(format ?? Self.format(ofFileAt: file)) { try PassStore(folder: FilePath(file)).check() }
  }

  func isCopy() throws -> Bool { try otherVault.map { try $0.locked().id == context.lockedVault().id } ?? false }

  /// - Parameter own: the target vault, opened here if this is a copy of it.
  func read(_ progress: Progress, beside own: borrowing OpenedVault) throws -> Found {
    if let otherVault { return try otherVault.found(progress, beside: own).withoutLogins() }
    let place = file == "-" ? "standard input" : file
    switch format ?? Self.format(ofFileAt: file) {
    case .pass: return try found(.pass, place, stored(.pass, progress))
    case .gopass: return try found(.gopass, place, stored(.gopass, progress))
    case .secretService:
      let keyring = try OtherKeyring()
      var found = Found(format: .secretService, place: keyring.owner.description, items: keyring.items).withoutLogins()
      found.leftOut += keyring.locked.map { LeftOut($0, LeftOut.locked) }
      return found
    case .onePassword where Self.isArchive(file):
      let archive = try ZipArchive(file)
      let text = try ImportText.read(archive.content("export.data", limit: Self.largestFile), place: place)
      return try found(
        .onePassword, place,
        OnePasswordJSON.read(text, place: place) { name, limit in
          try archive.holds(name) ? SecretForm(archive.content(name, limit: limit)) : nil
        })
    default: return try parse(ImportText.read(content(file), place: place), place)
    }
  }

  private func stored(_ style: PassBody.Style, _ progress: Progress) throws -> ImportedEntries {
    try PassStore(folder: FilePath(file)).entries(style, firstLineOnly: firstLineOnly, progress: progress, note: context.note)
  }

  private func content(_ file: String) throws -> SecretBytes {
    do {
      guard file == "-" else { return try SecretReader.file(file, limit: Self.largestFile, what: "the file") }
      return try SecretReader.read(0, limit: Self.largestFile, what: "the file", place: "standard input")
    } catch var failure as Failure where failure.kind == StoreError.Kind.tooLarge(limit: 0).word {
      failure.cure = "check that it is an export of passwords, and export it in parts; nothing was imported"
      throw failure
    }
  }

  private func parse(_ text: borrowing SecretBytes, _ place: String) throws -> Found {
    let recognized = try format ?? (service == nil ? ImportFormat.recognized(in: text, place: place) : .env)
    guard let format = recognized else {
      throw Failure.usage("the file's format is unknown", try: "--from, with the program's name")
    }
    switch format {
    case .json: return Found(format: .json, place: place, items: try JSONItems.read(text, place: place)).withoutLogins()
    case .env:
      let items = try EnvItems.read(text, service: service ?? "", place: place) { name in
        context.note("'\(name)' is already a reference and stays in the file")
      }
      return Found(format: .env, place: place, items: items)
    default: return try found(format, place, format.entries(in: text, place: place))
    }
  }

  private func found(_ format: ImportFormat, _ place: String, _ entries: ImportedEntries) throws -> Found {
    let items = try EntryItems(entries, keeping: HistoryOptions.standard(nil, context))
    return Found(format: format, place: place, items: items.items, leftOut: items.leftOut, renamed: items.renamed)
  }

  // MARK: The target of a path

  /// Without a look at its text.
  private static func format(ofFileAt path: String) -> ImportFormat? {
    guard path != "-" else { return nil }
    var facts = stat()
    guard stat(path, &facts) == 0 else { return nil }
    if facts.st_mode & S_IFMT == S_IFDIR { return .pass }
    if isArchive(path) { return .onePassword }
    return begins(path) { $0.starts(with: "SQLite format 3\0".utf8) } ? .coffer : nil
  }

  private static func isArchive(_ path: String) -> Bool { path != "-" && begins(path) { ZipArchive.isMeant(by: $0) } }

  /// Whether `isMeant` accepts the first bytes of a file. An unreadable file is reported by the read.
  ///
  /// A pipe is not opened: bytes read from it are gone, and closing it would end its writer.
  private static func begins(_ path: String, _ isMeant: (UnsafeRawBufferPointer) -> Bool) -> Bool {
    var facts = stat()
    guard stat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else { return false }
    let descriptor = coffer_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var head = [UInt8](repeating: 0, count: 16)
    let count = SecretReader.readOnce(descriptor, &head, head.count)
    return head.prefix(max(0, count)).withUnsafeBytes { isMeant($0) }
  }
}
