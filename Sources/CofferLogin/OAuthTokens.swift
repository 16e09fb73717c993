internal import CofferMemory
internal import CofferPlatform
public import CofferStorage
public import FoundationEssentials

/// The access token of a login, and its refresh token if the server returned one.
public struct OAuthTokens: Sendable {
  /// The credential for requests, while it lives.
  public let access: SecretForm
  /// The token that renews it; nil if the server gave none.
  public let refresh: SecretForm?
  /// When the access token expires, made earlier so that it does not expire in transit; nil if the server did not say.
  public let expires: Date?
  /// The scope of the token, in the server's words; nil if it is the requested one.
  public let scope: String?
  /// Its use: nearly always `Bearer`.
  public let type: String
  /// The person, if ``WebLogin`` asked for the scope `openid`; nil otherwise.
  public internal(set) var idToken: IDToken?
  let rawIDToken: SecretForm?

  /// Most seconds by which a token is renewed early: the time of clocks and requests.
  static let longestSkew = 60.0
  /// Most seconds that a token lives, at any server: ten years.
  private static let longestLife = 315_360_000.0

  /// Source: RFC 6749, 5.1.
  init(_ answer: OAuthAnswer, at now: Date, place: String) throws(StoreError) {
    guard let access = answer.accessToken else {
      throw StoreError(
        .damaged, "the server's answer holds no token", place: place, cure: "check that the address is the token endpoint's")
    }
    // Source: RFC 6749, appendix A.12: visible characters. A line break would break the line-based protocol that hands the
    // token on.
    let isVisible = { (bytes: UnsafeRawBufferPointer) in bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }
    guard [access, answer.refreshToken].compactMap(\.self).allSatisfy({ $0.bytes.withUnsafeBytes(isVisible) }),
      ["scope", "token_type"].compactMap({ answer.texts[$0] }).allSatisfy({ Array($0.utf8).withUnsafeBytes(isVisible) })
    else {
      throw StoreError(
        .damaged, "the server's token has a control character", place: place,
        cure: "check that the address is the token endpoint's")
    }
    self.access = access
    refresh = answer.refreshToken
    rawIDToken = answer.idToken
    scope = answer.texts["scope"]
    type = answer.texts["token_type"] ?? "Bearer"
    expires = answer.seconds("expires_in").map { seconds in
      let life = min(max(0, seconds), Self.longestLife)
      return now.addingTimeInterval(life - min(Self.longestSkew, life / 10))
    }
  }
}

struct OAuthAnswer {
  private(set) var accessToken: SecretForm?
  private(set) var refreshToken: SecretForm?
  private(set) var deviceCode: SecretForm?
  private(set) var idToken: SecretForm?
  private(set) var texts: [String: String] = [:]
  private var numbers: [String: Double] = [:]

  private static let texts: Set = [
    "token_type", "scope", "error", "error_description", "user_code", "verification_uri", "verification_url",
    "verification_uri_complete",
  ]
  private static let longestText = 4096

  /// - Throws: `.damaged` for anything but a JSON object with texts and numbers in their places.
  init(_ body: borrowing SecretBytes, place: String) throws {
    try body.withUnsafeBytes { raw in
      var scanner = JSONScanner(raw, place: place, outcome: "check that the address is the server's; nothing was stored")
      try scanner.object { scanner, name in
        switch name {
        case "access_token": accessToken = try scanner.secretOrNothing()
        case "refresh_token": refreshToken = try scanner.secretOrNothing()
        case "id_token": idToken = try scanner.secretOrNothing()
        case "device_code": deviceCode = try scanner.secretOrNothing()
        case _ where Self.texts.contains(name):
          let text = try scanner.textOrNothing()
          guard text.utf8.count <= Self.longestText else { throw scanner.damaged("a text is longer than a login needs") }
          if !text.isEmpty { texts[name] = text }
        // Some servers write numbers as text.
        case "expires_in", "interval":
          let text = try scanner.peek() == UInt8(ascii: "\"") ? scanner.text() : scanner.literal()
          if text == "null" { break }
          guard let number = Double(text), number.isFinite else { throw scanner.damaged("a number of seconds is not a number") }
          numbers[name] = number
        default: try scanner.skip()
        }
      }
      try scanner.end()
    }
  }

  func seconds(_ name: String) -> Double? { numbers[name] }
}
