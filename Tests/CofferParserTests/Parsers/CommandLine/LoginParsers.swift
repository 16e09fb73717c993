import CofferPlatform
import Foundation

#if canImport(FuzzShared)
  import FuzzShared
#endif

@testable import CofferLogin

/// A login's input from its server, and from a returning browser.
enum LoginParsers {
  static let all = [answer, document, callback]

  private static let longestLife = 315_360_000.0

  static let answer = Parser(
    "login-answer",
    words: ImportParsers.json + [
      "\"access_token\"", "\"refresh_token\"", "\"device_code\"", "\"expires_in\"", "\"interval\"", "\"error\"", "\"scope\"",
      "null",
    ]
  ) { input in
    let answer = try OAuthAnswer(CommandLineParsers.secret(input), place: "server")
    let now = Date(timeIntervalSince1970: 0)
    let tokens = try OAuthTokens(answer, at: now, place: "server")
    let life = tokens.expires?.timeIntervalSince(now) ?? 0
    try promise((0...longestLife).contains(life), "a token ends \(life) seconds after it was given")
    try promise(answer.texts.values.allSatisfy { $0.utf8.count <= 4096 }, "a text is longer than a login's")
  }

  static let document = Parser(
    "login-document",
    words: ImportParsers.json + [
      "\"issuer\"", "\"token_endpoint\"", "\"authorization_endpoint\"", "https://", "http://127.0.0.1", "\"client_secret_post\"",
      "\"token_endpoint_auth_methods_supported\"", "\"authorization_response_iss_parameter_supported\"", "true",
    ]
  ) { input in
    let server = try AuthorizationServer(
      ServerDocument(CommandLineParsers.secret(input), place: "server"), issuer: "issuer", authority: nil)
    let places = [
      server.tokenEndpoint, server.deviceAuthorizationEndpoint, server.authorizationEndpoint, server.revocationEndpoint,
    ]
    for place in places.compactMap(\.self) {
      let loopback = ["http://localhost", "http://127.0.0.1", "http://[::1]"].contains { place.lowercased().hasPrefix($0) }
      try promise(loopback || place.lowercased().hasPrefix("https://"), "an endpoint that anybody can listen to: \(place)")
    }
  }

  static let callback = Parser(
    "login-callback", longest: 512, words: ["GET /callback?", " HTTP/1.1", "code=", "state=", "iss=", "error=", "&", "%2F", "+"]
  ) { input in
    guard let line = String(validating: input, as: UTF8.self), let parameters = LoopbackDoor.parameters(line) else {
      throw StoreError(.damaged, "no line of a browser", cure: "log in again")
    }
    let pairs = parameters.map { "\(Form.encoded($0.key))=\(Form.encoded($0.value))" }.joined(separator: "&")
    let again = LoopbackDoor.parameters("GET /callback?\(pairs) HTTP/1.1")
    try promise(parameters.isEmpty || again == parameters, "parameters that were written again are others")
  }
}
