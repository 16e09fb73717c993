package import Coffer
internal import CofferPlatform

/// The file of git's own helper `store`: a URL with user and password a line.
///
/// The service is `protocol://host`, with the path if there is one, so that `git credential-coffer` finds it. Source:
/// git-credential-store(1).
package enum GitCredentialsFile {
  package static func read(_ file: borrowing SecretBytes, place: String) throws -> ImportedEntries {
    var found = ImportedEntries()
    try file.withUnsafeBytes { raw in
      for (number, line) in TextLines(raw) where !line.trimmed.isEmpty && line.first != UInt8(ascii: "#") {
        guard var entry = try entry(line.trimmed) else {
          found.leaveOut("line \(number)", "no URL with a user and a password")
          continue
        }
        entry.cuts = [line.lineCut]
        found.add(entry)
      }
    }
    return found
  }

  /// `protocol://host` of an entry for HTTP, the key in git's configuration; nil for any other.
  package static func server(_ entry: ImportedEntry) -> String? {
    guard let service = entry.service, let scheme = ["http://", "https://"].first(where: service.hasPrefix) else { return nil }
    let host = service.dropFirst(scheme.count).prefix { $0 != "/" }
    let isPlain = host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "*") }
    return host.isEmpty || !isPlain ? nil : scheme + host
  }

  /// Why git would not find the entry in the vault; nil if it would. Git sends no path of an HTTP URL by default, and its own
  /// store then matches any path. Source: gitcredentials(7), `useHttpPath`.
  package static func obstacle(_ entry: ImportedEntry) throws -> String? {
    guard let service = entry.service, let server = server(entry), service != server else { return nil }
    guard try !GitConfig.sendsPath(of: service) else { return nil }
    return "git asks without its path: git config --global credential.\(server).useHttpPath true changes that"
  }

  private static func entry(_ line: TextLines.Line) throws -> ImportedEntry? {
    guard let (scheme, address) = line.parted(at: ":"), address.starts(with: "//".utf8) else { return nil }
    let rest = address.dropFirst(2)
    let authority = rest.prefix { $0 != UInt8(ascii: "/") }
    guard let at = authority.lastIndex(of: UInt8(ascii: "@")) else { return nil }
    guard let (user, password) = authority[..<at].parted(at: ":") else { return nil }
    guard let secret = try PercentEncoding.secret(password), let name = try PercentEncoding.secret(user) else { return nil }
    let host = try PercentEncoding.secret(authority[(at + 1)...])?.plainText ?? ""
    let path = try PercentEncoding.secret(rest[authority.endIndex...].dropFirst())?.plainText ?? ""
    guard !host.isEmpty || !path.isEmpty else { return nil }
    var entry = ImportedEntry()
    let service = "\(scheme.word)://\(host)" + (path.isEmpty ? "" : "/\(path)")
    entry.service = service
    entry.title = "Git credential of \(host.isEmpty ? path : host)"
    entry.user = name.plainText
    entry.urls = [service]
    entry.value = secret
    return entry
  }
}
