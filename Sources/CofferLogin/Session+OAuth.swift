public import Coffer
internal import CofferMemory
internal import CofferPlatform
public import CofferStorage
public import FoundationEssentials

/// The stored access token of a session. Declare a credential's key with it:
///
/// ```swift
/// let token = StorageKey("token", secret: OAuthToken.self).expires(\.expires).endsWithSession()
/// let renewal = StorageKey("renewal", secret: String.self).endsWithSession()
/// ```
public struct OAuthToken: Codable, Sendable, SecretPayload {
  /// The secret text of the token.
  public let access: String
  /// Its use: nearly always `Bearer`.
  public let type: String
  /// Its scope; nil if the server did not say.
  public let scope: String?
  /// Seconds since 1970; nil for never.
  private let ends: Double?

  /// When it expires; nil for never.
  public var expires: Date? { ends.map { Date(timeIntervalSince1970: $0) } }

  private enum CodingKeys: CodingKey { case access, type, scope, ends }

  /// Decodes the stored token.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    access = try values.decode(String.self, forKey: .access)
    type = try values.decode(String.self, forKey: .type)
    scope = try values.decodeIfPresent(String.self, forKey: .scope)
    ends = try values.decodeIfPresent(Double.self, forKey: .ends)
  }

  init(_ tokens: OAuthTokens) {
    access = tokens.access.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    type = tokens.type
    scope = tokens.scope
    ends = tokens.expires?.timeIntervalSince1970
  }
}

extension Session {
  /// The keys of an access token and of its renewal token. Both end with the session.
  public struct OAuthKeys: Sendable {
    let credential: StorageKey<Sealed<OAuthToken>?, Vault>
    let renewal: StorageKey<Sealed<String>?, Vault>

    /// Two keys of the session's router, both declared with `endsWithSession()`, the first also with `expires(\.expires)`.
    public init(credential: StorageKey<Sealed<OAuthToken>?, Vault>, renewal: StorageKey<Sealed<String>?, Vault>) {
      self.credential = credential
      self.renewal = renewal
    }
  }

  /// Logs `user` in with a server's tokens. They, the preferences and all values that `body` sets are stored in one step.
  ///
  /// - Throws: the errors of ``/Coffer/Session/login(as:_:)``. Nothing has changed then.
  public func login(
    as user: User, with tokens: OAuthTokens, _ keys: OAuthKeys, _ body: (Transaction) throws -> Void = { _ in }
  ) throws {
    try login(as: user) { transaction in try set(tokens, keys, body, in: transaction) }
  }

  /// The asynchronous form. Throws the errors of ``/Coffer/Session/login(as:within:_:)``.
  nonisolated(nonsending) public func login(
    as user: User, with tokens: OAuthTokens, _ keys: OAuthKeys,
    _ body: @escaping @Sendable (Transaction) throws -> Void = { _ in }
  ) async throws {
    try await login(as: user) { transaction in try self.set(tokens, keys, body, in: transaction) }
  }

  private func set(
    _ tokens: OAuthTokens, _ keys: OAuthKeys, _ body: (Transaction) throws -> Void, in transaction: Transaction
  ) throws {
    try transaction.set(try Sealed(OAuthToken(tokens)), for: keys.credential)
    if let refresh = tokens.refresh { try transaction.set(Sealed(guarded: refresh.bytes.duplicate()), for: keys.renewal) }
    try body(transaction)
  }

  /// A valid token: the stored one, or a new one, for which one process asks the server however many want it.
  ///
  /// A new refresh token is stored before this returns. Cancelling the task, or an answer that takes longer than a minute,
  /// ends only the wait: the request has spent the old refresh token, so its result is stored all the same.
  ///
  /// - Parameters:
  ///   - keys: the keys of the stored tokens.
  ///   - client: the client that asks the server.
  ///   - stale: a token that the server refused before it expired; nil for none.
  /// - Throws: `StoreError` `.notFound` if nobody is logged in; `.loginRefused` if the server refuses to renew it, and the
  ///   user has to log in again; `.unreachable`; `.expired` without a renewal token; the errors of
  ///   ``/Coffer/Session/refresh(_:replacing:within:_:)``.
  public func token(_ keys: OAuthKeys, using client: OAuthClient, replacing stale: Sealed<OAuthToken>? = nil) async throws
    -> Sealed<OAuthToken>
  {
    let present = try await CallQueues.call(within: nil, isRead: true) { () throws(StoreError) in try self.live(keys.credential) }
    if stale == nil, let present { return present }
    let value = try await router.value(for: keys.renewal)
    let version = try await version(of: keys.renewal)
    return try await refreshToTheEnd(keys.credential, replacing: stale) { [self] _ in
      guard let refresh = try await router.value(for: keys.renewal) else {
        throw StoreError(.expired, "the token has expired and cannot be renewed", key: keys.credential.name, cure: "log in again")
      }
      // The process before was refused with the same token: asked again, a server may treat it as stolen.
      let now = try await self.version(of: keys.renewal)
      guard refresh != value || now == version else {
        throw StoreError(
          .loginRefused, "the server has just refused to renew the login for another task", key: keys.credential.name,
          cure: "log in again")
      }
      let form = try refresh.withBytes { bytes in try bytes.withUnsafeBytes { SecretForm(try SecretBytes(copying: $0)) } }
      let tokens: OAuthTokens
      do { tokens = try await client.tokens(refreshing: form) } catch let error as StoreError where error.kind == .loginRefused {
        // Rewritten unchanged, so that waiting processes see a new version. A failure here must not hide the current error.
        do { try await store(refresh, keys.renewal, replacing: refresh) } catch {}
        throw error
      }
      // Stored first: from now on the server may treat the old one as stolen. A process that dies in between leaves the new
      // one, and an expired access token.
      if let next = tokens.refresh {
        try await store(try Sealed(guarded: next.bytes.duplicate()), keys.renewal, replacing: refresh)
      }
      return try Sealed(OAuthToken(tokens))
    }
  }

  private func version(of key: StorageKey<Sealed<String>?, Vault>) async throws(StoreError) -> RecordVersion {
    try await CallQueues.call(within: nil, isRead: true) { () throws(StoreError) in try self.router.vault.version(of: key.name) }
  }

  private func store(
    _ next: Sealed<String>, _ key: StorageKey<Sealed<String>?, Vault>, replacing old: Sealed<String>
  ) async throws {
    // Even in a cancelled task, and while the router closes: the server may have dropped the old token.
    try await CallQueues.callClosure(at: router.vault.place, within: nil, endsWithTask: false) { [router] in
      try router.transaction { transaction in
        guard try transaction.value(for: key) == old else {
          throw StoreError(
            .conflict, "a login or logout happened while the token was renewed", key: key.name,
            cure: "use the tokens of that login")
        }
        try transaction.set(next, for: key)
      }
    }
  }
}
