internal import CofferPlatform

/// Where a program wants to be let in: scheme and host of a URL, which is all that a credential is for.
struct Origin {
  let scheme: String
  /// With the port, where that is not the scheme's own.
  let host: String
  /// The user that the URL names.
  let user: String?
  /// The URL without the user, and without a slash at its end.
  let service: String

  /// `scheme://host`, as the helper of git names its items.
  var name: String { "\(scheme)://\(host)" }

  /// The host without a port, as netrc has it.
  var machine: String {
    guard let colon = host.lastIndex(of: ":"), !host[colon...].contains("]") else { return host }
    return String(host[..<colon])
  }

  /// Nil for a text that is no URL with a host. Source: RFC 3986, section 3. Names of schemes and hosts have no case.
  init?(_ url: String) {
    guard let mark = url.firstRange(of: "://") else { return nil }
    let rest = url[mark.upperBound...]
    let authority = rest.prefix { !"/?#".contains($0) }
    let at = authority.lastIndex(of: "@")
    let address = at.map { authority[authority.index(after: $0)...] } ?? authority
    guard mark.lowerBound != url.startIndex, !address.isEmpty else { return nil }
    scheme = url[..<mark.lowerBound].lowercased()
    let port = ["https": ":443", "http": ":80"][scheme]
    let whole = address.lowercased()
    host = port.flatMap { whole.hasSuffix($0) ? String(whole.dropLast($0.count)) : nil } ?? whole
    user = at.flatMap { authority[..<$0].split(separator: ":", omittingEmptySubsequences: false).first }
      .flatMap { PercentEncoding.decode($0.utf8) }.flatMap { String(validating: $0, as: UTF8.self) }.flatMap {
        $0.isEmpty ? nil : $0
      }
    let path = rest[authority.endIndex...].prefix { !"?#".contains($0) }
    service = "\(scheme)://\(host)" + (path.hasSuffix("/") ? path.dropLast() : path)
  }
}
