internal import Coffer
internal import CofferSecretService
internal import CofferTerminal
internal import SystemPackage

/// Places where other programs keep importable secrets. No store is decrypted to find them.
struct ImportableSecrets: Encodable {
  struct Place: Encodable {
    let from: String, file: String?, command: String
    fileprivate let shown: [String]

    fileprivate init(_ format: ImportFormat, _ file: String?, by owner: String? = nil) {
      (from, self.file, command) = (format.rawValue, file, CommandText.importing(format, file))
      shown = [command, format.title, file ?? owner ?? ""]
    }

    private enum CodingKeys: CodingKey { case from, file, command }
  }

  let found: [Place]

  init(_ context: Context) {
    var stores: [(format: ImportFormat, folder: String)] = []
    for format in [ImportFormat.pass, .gopass] {
      // PASSWORD_STORE_DIR is of both.
      guard let folder = format.usualPlace, !stores.contains(where: { $0.folder == folder }) else { continue }
      if PassStore(folder: FilePath(folder)).isStore { stores.append((format, folder)) }
    }
    let files = SecretSearch(context: context).files().compactMap { looked in
      looked.unseen == nil ? looked.file.format.map { Place($0, looked.file.path.string) } : nil
    }
    found = stores.map { Place($0.format, $0.folder) } + files + Self.keyring()
  }

  private static func keyring() -> [Place] {
    do {
      guard let owner = try SecretServiceProvider.owner(), owner.program != "coffer" else { return [] }
      return [Place(.secretService, nil, by: owner.description)]
    } catch { return [] }  // Without a bus, or its library, there is none.
  }

  func show(json: Bool) throws {
    guard !found.isEmpty else {
      throw StoreError(
        .notFound, "no secrets to import were found on this machine",
        cure: "coffer import FILE, with another program's export; coffer help importing lists the programs")
    }
    if json { return try Output.json(self) }
    try Table.show(found.map(\.shown), under: ["COMMAND", "PROGRAM", "PLACE"])
  }
}
