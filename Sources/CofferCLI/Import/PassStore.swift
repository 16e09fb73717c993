internal import CofferFormats
internal import CofferStorage
internal import CofferTerminal
internal import CofferPlatform
internal import FoundationEssentials
internal import SystemPackage

/// A store of pass(1): a folder of files that gpg decrypts, whose paths are the names.
struct PassStore {
  private static let suffix = ".gpg"

  let folder: FilePath

  /// The store of pass: `PASSWORD_STORE_DIR`, else `~/.password-store`.
  static var standard: String? {
    ProcessEnvironment.value("PASSWORD_STORE_DIR") ?? ProcessEnvironment.value("HOME").map { $0 + "/.password-store" }
  }

  /// The store of gopass: `PASSWORD_STORE_DIR`, else below the user's data.
  static var gopass: String? {
    if let folder = ProcessEnvironment.value("PASSWORD_STORE_DIR") { return folder }
    let data = ProcessEnvironment.value("XDG_DATA_HOME") ?? ProcessEnvironment.value("HOME").map { $0 + "/.local/share" }
    return data.map { $0 + "/gopass/stores/root" }
  }

  /// The entries, each decrypted by gpg, which asks for its own passphrase as usual.
  ///
  /// The last part of an entry's path is the account, the rest the service; an entry at the top is only a service.
  ///
  /// - Throws: `.notFound` without a store or gpg; `.damaged`, naming the entry that gpg could not decrypt.
  func entries(_ style: PassBody.Style, firstLineOnly: Bool, progress: Progress, note: (String) -> Void) throws -> ImportedEntries
  {
    let names = try names(note)
    var found = ImportedEntries()
    for (index, path) in names.enumerated() {
      progress.show(index, names.count)
      let content = try Self.decrypt(folder.appending(path + Self.suffix), path)
      var entry = ImportedEntry()
      let slash = path.lastIndex(of: "/")
      entry.service = slash.map { String(path[..<$0]) } ?? path
      entry.user = slash.map { String(path[path.index(after: $0)...]) } ?? ""
      if firstLineOnly {
        entry.value = try content.withUnsafeBytes { raw in try SecretForm.copy(raw.prefix { $0 != 0x0A }) }
      } else {
        try PassBody.read(content, style: style, into: &entry)
      }
      if entry.hasSecret { found.add(entry) } else { found.leaveOut(path, LeftOut.empty) }
    }
    return found
  }

  /// Refuses a folder that is no store, before anyone is asked for a passphrase and a large folder is read.
  func check() throws {
    guard FileFacts.exists(folder) else {
      throw StoreError(
        .notFound, "there is no pass store", place: folder.string, cure: "give its folder, or set PASSWORD_STORE_DIR")
    }
    guard isStore else {
      throw StoreError(
        .notFound, "the folder is not a pass store: it has no .gpg-id and no *.gpg file", place: folder.string,
        cure: "name the store's folder, or the file that another program exported")
    }
  }

  private static func decrypt(_ file: FilePath, _ name: String) throws -> SecretBytes {
    let answer: CapturedCommand
    do {
      answer = try CapturedCommand.run(
        ["gpg", "--quiet", "--batch", "--status-fd", "\(CapturedCommand.notesDescriptor)", "--decrypt", "--", file.string])
    } catch let failure as Failure where failure.status == .commandNotFound {
      throw StoreError(.notFound, "gpg, which decrypts entries, is not installed", key: name, cure: "install gnupg")
    }
    // A truncated file may end with status 0 and no output: gpg must say that it decrypted all of it.
    guard answer.status == 0, answer.notes.contains("DECRYPTION_OKAY") else {
      throw StoreError(
        .damaged,
        answer.status == 0
          ? "the entry is cut off: gpg found no whole message"
          : "gpg could not decrypt the entry (status \(answer.status))",
        key: name, place: file.string,
        cure: answer.status == 0
          ? "restore the entry from a copy of the store; nothing was imported" : "see gpg's message above; nothing was imported")
    }
    return try answer.output.duplicate()
  }

  private static let others: Set = [".git", ".gitattributes", ".gitignore", ".gpg-id", ".extensions", ".public-keys"]

  /// The sorted names of the entries, found as pass finds them: through symbolic links, hidden or not.
  ///
  /// - Parameter note: called for files that are no entries, and for a folder that leads back to one above it.
  /// - Throws: ``/CofferPlatform/StoreError`` for anything unreadable, including a dangling link: nothing is left out
  ///   silently.
  private func names(_ note: (String) -> Void) throws -> [String] {
    var names: [String] = []
    try walk("", above: [], &names, note)
    guard !names.isEmpty else {
      throw StoreError(.notFound, "the folder has no entries of pass", place: folder.string, cure: "give the store's folder")
    }
    return names.sorted()
  }

  /// The most entries that are looked at for the first of gpg's: a folder without any may be the whole disk.
  private static let mostLooked = 10_000

  /// Whether it has a `.gpg-id`, or an entry among the first that are found. An unreadable folder counts as empty.
  var isStore: Bool {
    guard !FileFacts.exists(folder.appending(".gpg-id")) else { return true }
    var folders = [""], looked = 0
    while looked < Self.mostLooked, !folders.isEmpty {
      let below = folders.removeFirst()
      looked += 1
      do {
        for name in try entries(below) {
          switch try facts(name).st_mode & S_IFMT {
          case S_IFDIR: folders.append(name)
          case S_IFREG where name.hasSuffix(Self.suffix): return true
          default: looked += 1
          }
        }
      } catch { continue }
    }
    return false
  }

  private func entries(_ below: String) throws -> [String] {
    // By its real path: the file manager does not look behind a link that is the folder itself.
    try FileManager.default.contentsOfDirectory(atPath: folder.pushing(FilePath(below)).appending(".").string)
      .filter { !Self.others.contains($0) }.sorted().map { below.isEmpty ? $0 : "\(below)/\($0)" }
  }

  private func walk(_ below: String, above: [stat], _ names: inout [String], _ note: (String) -> Void) throws {
    let own = try facts(below)
    guard !above.contains(where: { $0.st_dev == own.st_dev && $0.st_ino == own.st_ino }) else {
      return note("the folder \(Printable.line(below)) leads back to a parent and is not followed")
    }
    for name in try entries(below) {
      switch try facts(name).st_mode & S_IFMT {
      case S_IFDIR: try walk(name, above: above + [own], &names, note)
      case S_IFREG where name.hasSuffix(Self.suffix): names.append(String(name.dropLast(Self.suffix.count)))
      default: note("\(Printable.line(name)) is not an entry of pass and is left out")
      }
    }
  }

  private func facts(_ name: String) throws(StoreError) -> stat {
    var facts = stat()
    let path = folder.pushing(FilePath(name))
    guard path.withPlatformString({ stat($0, &facts) }) == 0 else {
      throw StoreError(errno: errno, "look at the entry or its target", place: path)
    }
    return facts
  }
}
