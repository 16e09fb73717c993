internal import Coffer
internal import CofferPlatform
internal import FoundationEssentials
internal import SystemPackage

/// The entries of a pass store by their paths, found as pass finds them: through symbolic links, hidden or not.
struct PassFolders {
  let root: FilePath
  let suffix: String

  /// What pass and git keep in the store beside its entries.
  private static let others: Swift.Set = [".git", ".gitattributes", ".gitignore", ".gpg-id", ".extensions", ".public-keys"]

  /// The names in order.
  ///
  /// - Parameter note: told of what is no entry, and of a folder that leads back to one above it.
  /// - Throws: ``/CofferPlatform/StoreError`` for what cannot be looked at, a link that leads nowhere among them: nothing is left out silently.
  func names(_ note: (String) -> Void) throws -> [String] {
    var names: [String] = []
    try walk("", above: [], &names, note)
    return names.sorted()
  }

  private struct Identity: Hashable {
    let device: dev_t
    let inode: ino_t
    init(_ facts: stat) { (device, inode) = (facts.st_dev, facts.st_ino) }
  }

  private func walk(_ folder: String, above: [Identity], _ names: inout [String], _ note: (String) -> Void) throws {
    // By its real path: the file manager does not look behind a link that is the folder itself.
    let path = root.pushing(FilePath(folder))
    let identity = Identity(try facts(path))
    guard !above.contains(identity) else {
      return note("the folder \(Printable.line(folder)) leads back to one above it, and is not followed")
    }
    for entry in try FileManager.default.contentsOfDirectory(atPath: path.appending(".").string).sorted() {
      guard !Self.others.contains(entry) else { continue }
      let name = folder.isEmpty ? entry : "\(folder)/\(entry)"
      let found = try facts(root.pushing(FilePath(name)))
      switch found.st_mode & S_IFMT {
      case S_IFDIR: try walk(name, above: above + [identity], &names, note)
      case S_IFREG where entry.hasSuffix(suffix): names.append(String(name.dropLast(suffix.count)))
      default: note("\(Printable.line(name)) is no entry of pass, and is left out")
      }
    }
  }

  /// What stands at `path`, behind links.
  private func facts(_ path: FilePath) throws(StoreError) -> stat {
    var facts = stat()
    guard path.withPlatformString({ stat($0, &facts) }) == 0 else {
      throw StoreError(errno: errno, "look at the entry, or at what it links to", place: path)
    }
    return facts
  }
}
