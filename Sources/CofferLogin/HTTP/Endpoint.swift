internal import CofferPlatform
internal import FoundationEssentials

/// An address of a server that tokens are sent to: https, or http where the server is this very machine (RFC 8252, 8.3).
struct Endpoint: Hashable, Sendable {
  /// Bytes of an address, at most; libcurl takes longer ones, and no server has one.
  private static let longest = 2048
  private static let loopback: Set<String> = ["localhost", "127.0.0.1", "::1", "[::1]"]

  let text: String
  let host: String
  let isLoopback: Bool

  /// - Parameter name: what the address is for, for the message.
  /// - Throws: `.invalidName`.
  init(_ text: String, _ name: String) throws(StoreError) {
    guard text.utf8.count <= Self.longest, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }),
      let parts = URLComponents(string: text), let host = parts.host?.lowercased(), !host.isEmpty
    else { throw Self.invalid("the \(name) is no address", text) }
    guard parts.user == nil, parts.password == nil, parts.fragment == nil else {
      throw Self.invalid("the \(name) names a user, a password or a fragment", text)
    }
    let isLoopback = Self.loopback.contains(host)
    guard parts.scheme == "https" || (parts.scheme == "http" && isLoopback) else {
      throw Self.invalid("the \(name) is not https, so that others could read the tokens on their way", text)
    }
    self.text = text
    self.host = host
    self.isLoopback = isLoopback
  }

  /// Says which, where it can be printed: without what stands before an `@`, which may be a password.
  private static func invalid(_ what: String, _ text: String) -> StoreError {
    let shown = text.lastIndex(of: "@").map { "…\(text[$0...])" } ?? text
    return StoreError(
      .invalidName, what,
      place: String(shown.unicodeScalars.prefix(200).map { $0.isASCII && $0.value > 0x20 || $0 == "…" ? Character($0) : "?" }),
      cure: "give one that begins with https://")
  }
}
