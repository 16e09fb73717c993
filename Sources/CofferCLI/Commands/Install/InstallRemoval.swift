internal import CofferPlatform
internal import CofferTerminal
internal import FoundationEssentials
internal import SystemPackage

/// Removes the files of an install, and nothing else; if one was changed since, nothing.
///
/// Folders that install made go if they are empty, except those above the prefix.
struct InstallRemoval {
  let prefix: FilePath

  func perform(json: Bool, _ context: Context) throws {
    let record = try InstallRecord(prefix: prefix)
    guard !record.isEmpty else {
      throw StoreError(.notFound, "nothing was installed there", place: prefix.string, cure: "the --prefix DIR given to install")
    }
    try record.checkWays("nothing was removed", otherwise: "remove by hand the files that \(record.file) lists")
    let there = try record.marks.keys.sorted { $0.string < $1.string }.filter { path in
      guard let mark = try InstalledFile.mark(at: path) else { return false }
      guard record.has(mark, at: path) else {
        throw StoreError(
          .refused, "coffer install did not put this there; nothing was removed", place: path.string,
          cure: "move it away, or coffer install --replace, then coffer install --remove")
      }
      return true
    }
    // The record last: the remains of an interrupted command are still known.
    for path in there + [record.file] {
      guard path.withPlatformString({ unlink($0) }) == 0 || errno == ENOENT else {
        throw StoreError(errno: errno, "remove the file", place: path)
      }
    }
    for folder in record.folders.sorted(by: { $0.length > $1.length }) {
      // A link in place of a folder stays too. The installed files are gone by now, so that another program's folder is no
      // failure.
      guard folder.withPlatformString({ rmdir($0) }) != 0, ![ENOENT, ENOTDIR, ENOTEMPTY, EEXIST].contains(errno) else { continue }
      context.note("this folder stays: \(StoreError(errno: errno, "remove the folder", place: folder).facts)")
    }
    if json { return try Output.json(["removed": there.map(\.string)]) }
    if Display.output.isTerminal {
      try Output.line("\(Sign.doneAtTerminal)removed \(counted(there.count, "file")) below \(prefix), coffer among them")
    } else {
      for path in there { try Output.line("removed  \(path)") }
    }
    context.note("the vault, the preferences, and the settings of git and docker stay")
  }
}

enum InstallPrefix {
  /// - Parameter given: the value of `--prefix`; nil for `~/.local`.
  static func path(_ given: String?) throws -> FilePath {
    if let given {
      guard !given.contains("\n") else { throw Failure.usage("the prefix contains a newline", try: "--prefix DIR") }
      return FilePath(FileManager.default.currentDirectoryPath).pushing(FilePath(given)).lexicallyNormalized()
    }
    guard let home = ProcessEnvironment.value("HOME") else {
      throw Failure.usage("HOME is not set, so there is no ~/.local", try: "--prefix DIR")
    }
    return FilePath(home).appending(".local")
  }
}
