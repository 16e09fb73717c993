internal import Coffer
internal import CofferStorage
internal import CofferTerminal
internal import SystemPackage

/// `coffer doctor --fix`: moves secrets in the clear into the vault, entry by entry.
final class DoctorFix {
  private let context: Context
  private var opened: VaultItems?
  private(set) var rows: [Row] = []

  struct Row: Encodable {
    let item: String, place: String
    /// Why it stays; nil if it moved.
    let kept: String?
  }

  init(_ context: Context) { self.context = context }

  /// Moves the secrets that can be moved; ``rows`` lists them, after a failure too.
  ///
  /// - Throws: a failure of status 77 if nobody can be asked and --yes is missing.
  func run() throws {
    let search = SecretSearch(context: context)
    let (looked, keys) = (search.files().filter { $0.file.format != nil }, search.preferences())
    let (files, remnants) = (looked.filter { $0.unseen == nil }.map(\.file), Set(search.remnants().map(\.domain)))
    for one in looked { if let reason = one.unseen { add(one.file.path.string, one.file.path, reason) } }
    guard !files.isEmpty || !keys.isEmpty || !remnants.isEmpty else { return }
    guard context.yes || Terminal() != nil else {
      throw Failure(
        StoreError(
          .refused, "there is no terminal to ask which secrets to move into the vault",
          cure: "a terminal, or --yes for all of it; nothing was changed"))
    }
    for file in files { try move(file) }
    for key in keys { try move(key) }
    for domain in remnants { try context.places.openDefaults(domain.name).scrub() }
    for secret in search.remnants() {
      guard let file = secret.file else { continue }
      add("\(secret.domain.name)/…", file, "only a person can tell whether the file is needed")
    }
  }

  private func move(_ file: CredentialFile) throws {
    guard let format = file.format else { return }
    try SecretMove(
      file: file, format: format, context: context, items: items, ask: ask, tell: { [self] in add($0, file.path, $1) }
    ).run()
  }

  private func move(_ key: PlainSecret) throws {
    let name = "\(key.domain.name)/\(key.name)"
    guard key.isSimple else { return add(name, key.domain.file, "it is inside a list or dictionary") }
    guard key.domain.name != Settings.domain else { return add(name, key.domain.file, "it is a setting of coffer itself") }
    guard try ask("Move \(name) from \(key.domain.file) into the vault? Its program must then read it as a secret.") else {
      return add(name, key.domain.file, "you said no")
    }
    _ = try items()
    let router = try ShellRouter(domain: key.domain.name, context)
    guard let stored = try router.plain.load(key.name) else { return }
    try router.moveToVault(key.name, stored, as: PlainBytes.secret(stored))
    add(name, key.domain.file, nil)
  }

  private func add(_ item: String, _ place: FilePath, _ kept: String?) {
    rows.append(Row(item: item, place: place.string, kept: kept))
  }

  private func items() throws -> VaultItems {
    if let opened { return opened }
    let items = try context.items()
    opened = items
    return items
  }

  private func ask(_ question: String) throws -> Bool {
    guard !context.yes else { return true }
    guard let terminal = Terminal() else { return false }
    return try terminal.confirm(question)
  }
}
