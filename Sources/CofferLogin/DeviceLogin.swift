internal import CofferPlatform
internal import CofferStorage
public import FoundationEssentials

/// A login on any device with a browser, where a person opens a page and enters a code. Source: RFC 8628.
public struct DeviceLogin: Sendable {
  /// The page to open.
  public let verificationURL: String
  /// The page with the code filled in; nil if the server gave none. As a program's argument every user of the machine can
  /// read it, and answer the code with an account of their own.
  public let completeURL: String?
  /// The code to enter there.
  public let userCode: String
  /// When the code expires.
  public let expires: Date

  private let client: OAuthClient
  private let deviceCode: SecretForm
  let firstInterval: Double

  /// Seconds between polls if the server gives none. Source: RFC 8628, 3.5.
  private static let usualInterval = 5.0
  /// A code lives some minutes, so longer intervals of a server are cut to a minute.
  private static let longestInterval = 60.0
  /// Most seconds that a code lives, at any server: a day.
  private static let longestLife = 86_400.0
  private static let longestCode = 64

  init(_ client: OAuthClient, _ answer: OAuthAnswer, at now: Date, place: String) throws(StoreError) {
    guard let deviceCode = answer.deviceCode, let userCode = answer.texts["user_code"],
      // Google's name is older than the standard's.
      let page = answer.texts["verification_uri"] ?? answer.texts["verification_url"]
    else {
      throw StoreError(
        .damaged, "the server's answer holds no code to log in with", place: place,
        cure: "check that the address is the device authorization endpoint's")
    }
    // Both are printed for a person, who trusts them.
    guard userCode.utf8.count <= Self.longestCode, userCode.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else {
      throw StoreError(
        .damaged, "the server's code cannot be typed", place: place, cure: "try again, or another server")
    }
    verificationURL = try Endpoint(page, "page to open", ofServer: true).text
    completeURL = try answer.texts["verification_uri_complete"].map { (text) throws(StoreError) in
      try Endpoint(text, "page with the code", ofServer: true).text
    }
    self.userCode = userCode
    self.deviceCode = deviceCode
    self.client = client
    expires = now.addingTimeInterval(min(max(0, answer.seconds("expires_in") ?? 900), Self.longestLife))
    // Whole seconds (RFC 8628, 3.2): a fraction near zero would mean polling without a pause.
    let interval = answer.seconds("interval") ?? Self.usualInterval
    firstInterval = interval >= 1 ? min(interval, Self.longestInterval) : Self.usualInterval
  }

  /// Waits until the person has answered.
  ///
  /// An unreachable server is asked again, with longer pauses, until the code expires.
  ///
  /// - Throws: `StoreError` `.loginRefused` if the person refused or the code expired; `.unreachable` if the server stayed
  ///   unreachable until then; `.damaged` for invalid answers; `CancellationError`.
  public func wait() async throws -> OAuthTokens { try await Cancellation.run { try wait($0) } }

  /// - Parameter pause: waits the given seconds.
  package func wait(_ cancellation: Cancellation, pause: ((Double) throws -> Void)? = nil) throws -> OAuthTokens {
    let pause = pause ?? cancellation.sleep
    var form = Form()
    form.add("grant_type", "urn:ietf:params:oauth:grant-type:device_code")
    form.add("device_code", deviceCode)
    let deadline = ContinuousClock.now + .seconds(max(0, expires.timeIntervalSinceNow))
    var (interval, extra) = (firstInterval, 0.0)
    var unreachable: StoreError?
    while true {
      let rest = (deadline - ContinuousClock.now) / .seconds(1)
      guard rest > 0 else { throw unreachable ?? ended() }
      try pause(min(interval + extra, rest))
      guard !cancellation.isCancelled else { throw CancellationError() }
      do {
        switch try client.answer(form, cancellation) {
        case .tokens(let tokens): return tokens
        case .refused(let failure):
          (unreachable, extra) = (nil, 0)
          switch failure.code {
          case "authorization_pending": continue
          case "slow_down": interval += 5  // For good: RFC 8628, 3.5.
          case "expired_token": throw ended()
          default: throw failure.error("the login", client.server.token.text, cure: "log in again, and allow it")
          }
        }
      } catch let error as StoreError where error.kind == .unreachable {
        // A short loss of the network ends no login. Source: RFC 8628, 3.5: exponential back-off.
        unreachable = error
        extra = min(max(interval, extra * 2), Self.longestInterval)
      }
    }
  }

  private func ended() -> StoreError {
    StoreError(
      .loginRefused, "the code expired before it was entered", place: client.server.token.text,
      cure: "log in again, and enter the new code")
  }
}

extension OAuthClient {
  /// Begins a login by a code that a person enters on any device.
  ///
  /// - Throws: `StoreError` `.unsupported` for a server without device codes, and without libcurl; the errors of
  ///   ``tokensOfItsOwn()``.
  public func loginByCode() async throws -> DeviceLogin { try await Cancellation.run { try loginByCode($0) } }

  package func loginByCode(_ cancellation: Cancellation?) throws -> DeviceLogin {
    guard let endpoint = server.deviceAuthorization else {
      throw StoreError(
        .unsupported, "the server does not offer login by a code", place: server.token.host,
        cure: "log in with the browser of this machine")
    }
    var form = Form()
    form.add("scope", scope)
    let now = Date()
    let answer = try post(&form, to: endpoint, cancellation)
    try OAuthFailure.checkReached(answer.status, endpoint.text)
    let cure = "check the client's id and its scopes, and that it may log in by a code"
    if let refusal = OAuthFailure(silent: answer) { throw refusal.error("to begin a login", endpoint.text, cure: cure) }
    let parts = try OAuthAnswer(answer.body, place: endpoint.text)
    if let code = parts.texts["error"] {
      throw OAuthFailure(parts, code, form).error("to begin a login", endpoint.text, cure: cure)
    }
    return try DeviceLogin(self, parts, at: now, place: endpoint.text)
  }
}
