internal import CofferPlatform

/// The whole scope of a credential.
struct Origin {
  let scheme: String
  /// With the port, unless it is the scheme's own.
  let host: String
  let user: String?
  /// The URL without the user, and without a slash at its end.
  let service: String

  /// `scheme://host`, as the helper of git names its items.
  var name: String { "\(scheme)://\(host)" }

  /// The host without a port, as in netrc.
  var machine: String {
    guard let colon = host.lastIndex(of: ":"), !host[colon...].contains("]") else { return host }
    return String(host[..<colon])
  }

  /// Nil for a text that is no URL with a host, and for a host that programs may read in different ways. Scheme and host
  /// have no case. Bytes are compared, as a combining mark would hide a separator.
  ///
  /// Source: RFC 3986, section 3; CVE-2024-50349: a program that decodes the user `bank.example%2fx` shows it before the `@`
  /// of the host.
  init?(_ url: String) {
    guard let mark = url.utf8.firstRange(of: "://".utf8), mark.lowerBound != url.startIndex else { return nil }
    let rest = url.utf8[mark.upperBound...]
    let authority = rest.prefix { !"/?#".utf8.contains($0) }
    let at = authority.lastIndex(of: UInt8(ascii: "@"))
    let address = authority[(at.map { authority.index(after: $0) } ?? authority.startIndex)...]
    guard !address.isEmpty, !address.contains(UInt8(ascii: "%")), !authority.contains(UInt8(ascii: "\\")),
      !rest[authority.endIndex...].contains(UInt8(ascii: "@"))
    else { return nil }
    scheme = url[..<mark.lowerBound].lowercased()
    let port = ["https": ":443", "http": ":80"][scheme]
    let whole = String(Substring(address)).lowercased()
    host = port.flatMap { whole.hasSuffix($0) ? String(whole.dropLast($0.count)) : nil } ?? whole
    guard !host.isEmpty else { return nil }
    user = at.flatMap { authority[..<$0].split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false).first }
      .flatMap { PercentEncoding.decode($0) }.flatMap { String(validating: $0, as: UTF8.self) }.flatMap { $0.isEmpty ? nil : $0 }
    let path = String(Substring(rest[authority.endIndex...].prefix { !"?#".utf8.contains($0) }))
    service = "\(scheme)://\(host)" + (path.hasSuffix("/") ? path.dropLast() : path[...])
  }
}
