// The same calls for asynchronous code. They wait on this library's threads, in order. Cancelling the task ends the wait with
// ``ClientError/Kind/cancelled``.
extension AgentConnection {
  /// See the synchronous form.
  public nonisolated(nonsending) func status() async throws(ClientError) -> Status {
    try await queue.run { [self] () throws(ClientError) in try status() }
  }

  /// See the synchronous form.
  public nonisolated(nonsending) func isLocked() async throws(ClientError) -> Bool {
    try await queue.run { [self] () throws(ClientError) in try isLocked() }
  }

  /// See the synchronous form.
  @discardableResult
  public nonisolated(nonsending) func unlock(
    with credentials: [AgentCredential], idle: UInt64? = nil, lifetime: UInt64? = nil
  ) async throws(ClientError) -> Status {
    try await queue.run { [self] () throws(ClientError) in try unlock(with: credentials, idle: idle, lifetime: lifetime) }
  }

  /// See the synchronous form.
  public nonisolated(nonsending) func value(of item: AgentItem) async throws(ClientError) -> SecretBuffer? {
    try await queue.run { [self] () throws(ClientError) in try value(of: item) }
  }

  /// See the synchronous form.
  public nonisolated(nonsending) func set(
    _ value: SecretBuffer, for item: AgentItem, label: String = "", contentType: String = "",
    attributes: [String: String] = [:], expires: Double? = nil, replacing: Bool = true
  ) async throws(ClientError) {
    try await queue.run { [self] () throws(ClientError) in
      try set(
        value, for: item, label: label, contentType: contentType, attributes: attributes, expires: expires,
        replacing: replacing)
    }
  }

  /// See the synchronous form.
  @discardableResult
  public nonisolated(nonsending) func delete(_ item: AgentItem) async throws(ClientError) -> Bool {
    try await queue.run { [self] () throws(ClientError) in try delete(item) }
  }

  /// See the synchronous form.
  public nonisolated(nonsending) func list(service: String) async throws(ClientError) -> [AgentItem] {
    try await queue.run { [self] () throws(ClientError) in try list(service: service) }
  }

  /// See the synchronous form.
  public nonisolated(nonsending) func list() async throws(ClientError) -> [AgentItem] {
    try await queue.run { [self] () throws(ClientError) in try list() }
  }

  /// See the synchronous form.
  public nonisolated(nonsending) func accessToken(
    host: String, account: String
  ) async throws(ClientError) -> SecretBuffer? {
    try await queue.run { [self] () throws(ClientError) in try accessToken(host: host, account: account) }
  }
}
