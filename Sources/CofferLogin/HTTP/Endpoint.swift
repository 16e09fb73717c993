internal import CofferPlatform
internal import FoundationEssentials

/// A server's address for tokens: https, or http for this machine (RFC 8252, 8.3).
struct Endpoint: Hashable, Sendable {
  /// Most bytes of an address; libcurl accepts longer ones, but no server has one.
  private static let longest = 2048
  private static let loopback: Set<String> = ["localhost", "127.0.0.1", "::1", "[::1]"]

  let text: String
  let host: String
  let isLoopback: Bool

  /// - Parameters:
  ///   - name: the purpose of the address, for the message.
  ///   - isServers: whether a server gave it.
  /// - Throws: `.invalidName`; `.damaged` for one that a server gave.
  init(_ text: String, _ name: String, ofServer isServers: Bool = false) throws(StoreError) {
    func invalid(_ what: String) -> StoreError {
      // Shows only the part after an `@`: a password may precede it.
      let shown = text.lastIndex(of: "@").map { "…\(text[$0...])" } ?? text
      return StoreError(
        isServers ? .damaged : .invalidName, what,
        place: String(shown.unicodeScalars.prefix(200).map { $0.isASCII && $0.value > 0x20 || $0 == "…" ? Character($0) : "?" }),
        cure: isServers ? "check that the address is the server's" : "give one that begins with https://")
    }
    guard text.utf8.count <= Self.longest, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }),
      let parts = URLComponents(string: text), let host = parts.host?.lowercased(), !host.isEmpty
    else { throw invalid("the \(name) is not an address") }
    guard parts.user == nil, parts.password == nil, parts.fragment == nil else {
      throw invalid("the \(name) names a user, a password or a fragment")
    }
    let isLoopback = Self.loopback.contains(host)
    guard parts.scheme == "https" || (parts.scheme == "http" && isLoopback) else {
      throw invalid("the \(name) is not https, so others could read the tokens in transit")
    }
    self.text = text
    self.host = host
    self.isLoopback = isLoopback
  }
}
