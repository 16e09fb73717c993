internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import FoundationEssentials

/// The person who logged in, as an OpenID provider names them.
///
/// The https connection to the token endpoint proves the provider, so the token's signature is not verified (OpenID Connect
/// Core 1.0, 3.1.3.7, item 6). Its issuer, audience, expiry and nonce are.
public struct IDToken: Sendable, Hashable {
  /// The provider's name.
  public let issuer: String
  /// The person's id, which the issuer gives to nobody else. With ``issuer`` it always names the same account; an e-mail
  /// address does not.
  public let subject: String
  /// All claims that are texts, such as `email` and `name`.
  public let claims: [String: String]

  /// Most bytes of a text; longer texts are left out.
  private static let longestText = 4096
  /// Seconds by which two clocks may differ.
  private static let leeway = 60.0

  /// - Throws: `.loginRefused` for a token of another issuer, client or login, or one that has expired; `.damaged`.
  init(_ token: SecretForm, for client: OAuthClient, nonce: String, at now: Date) throws {
    let place = client.server.token.text
    func refused(_ what: String) -> StoreError {
      StoreError(
        .loginRefused, "the server's id token \(what)", place: place,
        cure: "log in again; if it happens again, ask the server's operator")
    }
    guard let payload = try Self.payload(token) else {
      throw StoreError(
        .damaged, "the server's id token is not a JSON Web Token", place: place,
        cure: "check that the address is the token endpoint's")
    }
    var (texts, audiences, end) = ([String: String](), [String](), Double?.none)
    try payload.withUnsafeBytes { raw in
      var scanner = JSONScanner(raw, place: place, outcome: "nothing was stored")
      try scanner.object { scanner, name in
        switch (name, scanner.peek()) {
        case ("aud", UInt8(ascii: "[")): try scanner.array { audiences.append(try $0.text()) }
        case ("exp", _): end = Double(try scanner.literal())
        case (_, UInt8(ascii: "\"")):
          let text = try scanner.text()
          if text.utf8.count <= Self.longestText { texts[name] = text }
        default: try scanner.skip()
        }
      }
      try scanner.end()
    }
    if let audience = texts["aud"] { audiences.append(audience) }
    // In the order of OpenID Connect Core 1.0, 3.1.3.7.
    guard let issuer = texts["iss"], issuer == client.server.issuer else { throw refused("is from another issuer") }
    guard audiences.contains(client.id) else { throw refused("is for another client") }
    // Items 4 and 5, for a token with other audiences.
    guard texts["azp"].map({ $0 == client.id }) ?? (audiences.count == 1) else { throw refused("is not for this client alone") }
    guard let end, end + Self.leeway > now.timeIntervalSince1970 else { throw refused("has expired") }
    guard try CodeGrant.isSame(texts["nonce"], CodeGrant.secret(nonce)) else { throw refused("belongs to another login") }
    guard let subject = texts["sub"], !subject.isEmpty else { throw refused("names nobody") }
    self.issuer = issuer
    self.subject = subject
    claims = texts
  }

  /// The second of a token's three parts, decoded. Source: RFC 7515, 3.1; RFC 4648, section 5.
  private static func payload(_ token: SecretForm) throws -> SecretBytes? {
    let text = try token.bytes.withUnsafeBytes { raw -> SecretBytes? in
      let parts = raw.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
      guard parts.count == 3 else { return nil }
      return try SecretBytes.written { (put) throws(StoreError) in
        for byte in parts[1] {
          switch byte {
          case UInt8(ascii: "-"): put(UInt8(ascii: "+"))
          case UInt8(ascii: "_"): put(UInt8(ascii: "/"))
          default: put(byte)
          }
        }
        for _ in 0..<((4 - parts[1].count % 4) % 4) { put(UInt8(ascii: "=")) }
      }
    }
    guard let text else { return nil }
    return try SecretBase64.decode(text)
  }
}
