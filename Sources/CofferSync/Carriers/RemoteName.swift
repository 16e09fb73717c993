package import CofferPlatform
package import SystemPackage

/// A remote as a user names it: the path of a folder or a bare repository, a git address, `rclone:REMOTE:PATH` or
/// `command:PROGRAM`.
package struct RemoteName: Sendable, Equatable {
  /// The text that ``init(_:)`` reads back. It names the remote in files, and has no secret.
  package let text: String
  private let kind: Kind

  private enum Kind: Equatable {
    case path(FilePath)
    case git(String)
    case rclone(String)
    case command(String)
  }

  /// - Throws: ``StoreError`` `.invalidName` for any other text, and for one with a secret or an option of a program in it.
  package init(_ text: String) throws(StoreError) {
    guard !text.isEmpty, text.utf8.count <= 4096, text.spelledOut() == text else {
      throw Self.invalid("it is empty, too long, or has invisible characters", "check it")
    }
    guard !text.hasPrefix("-"), !text.hasPrefix("~") else {
      throw Self.invalid("it begins with '\(text.prefix(1))'", "write a path with ./ or $HOME before it")
    }
    if let remote = text.dropping("rclone:") {
      kind = .rclone(try Self.rclone(remote))
      self.text = text
    } else if let program = text.dropping("command:") {
      guard !program.isEmpty, !program.hasPrefix("-") else {
        throw Self.invalid("it names no program", "write command:/its/path")
      }
      // Each run would look for a relative path in another folder.
      let path = program.contains("/") ? try TrustedPath.absolute(FilePath(program)).string : program
      (self.text, kind) = ("command:\(path)", .command(path))
    } else if text.hasPrefix("/") || text.hasPrefix("./") || text.hasPrefix("../") || [".", ".."].contains(text) {
      let path = try TrustedPath.absolute(FilePath(text)).lexicallyNormalized()
      (self.text, kind) = (path.string, .path(path))
    } else if text.contains("://") {
      (self.text, kind) = (text, try Self.url(text.dropping("git+") ?? text))
    } else {
      (self.text, kind) = (text, try Self.ssh(text))
    }
  }

  /// - Parameters:
  ///   - folder: a private folder of this remote on this machine, for a carrier's files.
  ///   - groups: reads a head, for the carriers that name groups by their numbers.
  package func carrier(folder: FilePath, groups: @escaping GroupNumbers) throws(StoreError) -> any Carrier {
    switch kind {
    case .path(let path):
      guard try !Self.isThere(path.appending(".git")) else {
        throw StoreError(
          .unsupported, "it is a repository with files checked out", place: text, cure: "make another with git init --bare")
      }
      for part in ["HEAD", "objects", "refs"] where try !Self.isThere(path.appending(part)) { return FolderCarrier(path) }
      return try GitCarrier(text, isPath: true, folder: folder, groups: groups)
    case .git(let address): return try GitCarrier(address, isPath: false, folder: folder, groups: groups)
    case .rclone(let remote): return try ProgramCarrier(rclone: remote, folder: folder)
    case .command(let path): return try ProgramCarrier(command: path, folder: folder)
    }
  }

  private static func isThere(_ path: FilePath) throws(StoreError) -> Bool { try FileStatus(ofLinkAt: path) != nil }

  /// The name of a configured remote, and a path. Others have options in them, and secrets among these.
  private static func rclone(_ text: String) throws(StoreError) -> String {
    let name = text.prefix { $0 != ":" }
    let isName = name.utf8.allSatisfy { $0.isLetterOrDigit || "_.+@- ".utf8.contains($0) }
    guard !name.isEmpty, isName, name.count < text.count, !name.hasPrefix("-"), !name.hasPrefix(" ") else {
      throw invalid("it names no remote of rclone's configuration", "set one up with rclone config, and write rclone:REMOTE:PATH")
    }
    return text
  }

  private static func url(_ address: String) throws(StoreError) -> Kind {
    let scheme = address.prefix { $0 != ":" }
    let rest = address.dropFirst(scheme.count + 3), host = rest.prefix { $0 != "/" }
    let login = host.split(separator: "@", omittingEmptySubsequences: false).dropLast()
    switch scheme {
    case "ssh":
      // git decodes percent signs.
      guard !login.contains(where: { $0.contains(":") || $0.contains("%") }) else { throw secret }
    case "https", "http":
      guard login.isEmpty, !address.contains("?"), !address.contains("#") else { throw secret }
    default:
      throw invalid("\(scheme) is no protocol of git's over a network", "use ssh://, https:// or a path, or a remote of rclone's")
    }
    guard let first = (host.split(separator: "@").last ?? "").first, first != "-", !host.hasPrefix("-") else {
      throw invalid("it names no host", "check the address")
    }
    return .git(address)
  }

  /// `USER@HOST:PATH`, as git and scp read it.
  private static func ssh(_ text: String) throws(StoreError) -> Kind {
    let host = text.prefix { $0 != ":" }, path = text.dropFirst(host.count + 1)
    guard host.count < text.count, !host.contains("/") else {
      throw invalid("it is neither a path nor an address", "write ./ before a path")
    }
    let name = host.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
    guard !path.contains("@") else { throw secret }
    // git takes two colons for the name of a program.
    guard !name.isEmpty, !name.hasPrefix("-"), !path.isEmpty, !path.hasPrefix("-"), !path.hasPrefix(":") else {
      throw invalid("it is no address of git's", "write USER@HOST:PATH or ssh://HOST/PATH")
    }
    return .git(text)
  }

  private static var secret: StoreError {
    invalid(
      "the address has a place for a password, and addresses are shown (not repeated here)",
      "leave it out: git asks its credential helper, and ssh its agent")
  }

  private static func invalid(_ what: String, _ cure: String) -> StoreError {
    StoreError(.invalidName, "this names no remote: \(what)", cure: cure)
  }
}

extension String {
  fileprivate func dropping(_ prefix: String) -> String? { hasPrefix(prefix) ? String(dropFirst(prefix.count)) : nil }
}
