internal import CofferPlatform
public import CofferStorage
internal import FoundationEssentials

extension Session {
  /// The default limit of a renewal. A renewal that takes a minute hangs; other callers must not hang with it.
  public static var longestRefresh: Duration { .seconds(60) }

  /// A fresh credential, renewed once however many tasks and processes ask at the same time.
  ///
  /// One caller asks the server under a lock; the others wait and take the renewed credential. The lock is a file beside the
  /// vault, or a lock on the vault's server, so that every process finds it. Without the lock no server is asked. The renewed
  /// credential replaces only the one from the start of the renewal: a logout or another login in between stands.
  ///
  /// - Parameters:
  ///   - key: the credential's key, or another secret of the session.
  ///   - stale: the credential to replace, because a server refused it or it expires soon. Nil for an expired one, whose
  ///     value nobody gets. If another unexpired one is stored by now, it is returned without a renewal.
  ///   - limit: how long the renewal may take, and how long others wait for it.
  ///   - renew: gets the present credential, or nil for an expired one, and returns a new one. The vault hands out no expired
  ///     values: keep what renews one under its own key. At the limit `renew` is cancelled, and its later result is dropped.
  /// - Returns: the credential that now stands.
  /// - Throws: `StoreError` `.notFound` without a login; `.refused` for another user's key in a session of a family;
  ///   `.conflict` when another login came between; `.busy` at the limit; `.locked`; `.readOnly` and `.denied` if the vault's
  ///   folder cannot be written; the error of `renew`. The credential is unchanged then.
  public func refresh<Credential>(
    _ key: StorageKey<Sealed<Credential>?, Vault>, replacing stale: Sealed<Credential>? = nil,
    within limit: Duration = longestRefresh,
    _ renew: @escaping @Sendable (Sealed<Credential>?) async throws -> Sealed<Credential>
  ) async throws -> Sealed<Credential> {
    switch try await begin(key, replacing: stale, within: limit) {
    case .renewed(let credential): return credential
    case .turn(let turn, let old, let present):
      defer { turn.endAside() }
      let timing = Measure.begin(.renewal)
      defer { timing?.end() }
      let new = try await Deadline.run(within: limit, key: key.name, cure: "try again; nothing was stored") {
        try await renew(old)
      }
      // In a separate task, because cancellation must not lose the new credential.
      return try await Task { try await settle(new, key, replacing: present) }.value
    }
  }

  /// The same for a renewal that spends its own credential, so that abandoning it would end the login. Once it has begun, the
  /// limit and a cancellation of the calling task end only the wait. The renewal continues, its result is stored, and nobody
  /// gets a turn before.
  ///
  /// - Parameter renew: must end without cancellation.
  package func refreshToTheEnd<Credential>(
    _ key: StorageKey<Sealed<Credential>?, Vault>, replacing stale: Sealed<Credential>? = nil,
    within limit: Duration = longestRefresh,
    _ renew: @escaping @Sendable (Sealed<Credential>?) async throws -> Sealed<Credential>
  ) async throws -> Sealed<Credential> {
    switch try await begin(key, replacing: stale, within: limit) {
    case .renewed(let credential): return credential
    case .turn(let turn, let old, let present):
      let work = Task { () async throws -> Sealed<Credential> in
        defer { turn.endAside() }
        let timing = Measure.begin(.renewal)
        defer { timing?.end() }
        return try await settle(try await renew(old), key, replacing: present)
      }
      return try await Deadline.run(within: limit, key: key.name, cure: "try again; the renewal goes on") { try await work.value }
    }
  }

  private enum Beginning<Credential: Sendable>: Sendable {
    /// Another caller has renewed the credential.
    case renewed(Sealed<Credential>)
    /// Renew it, and then end the turn. `old` is nil for an expired credential; `present` are its versions.
    case turn(RefreshTurn, old: Sealed<Credential>?, present: [RecordVersion])
  }

  private func begin<Credential>(
    _ key: StorageKey<Sealed<Credential>?, Vault>, replacing stale: Sealed<Credential>?, within limit: Duration
  ) async throws -> Beginning<Credential> {
    guard member.map({ (router.keys.declaration(of: key.name)?.name ?? "") + $0 == key.name }) ?? true else {
      throw StoreError(
        .refused, "the key of another user", key: key.name, cure: "use the family's member for the session's user")
    }
    let asked = try await CallQueues.call(within: nil, isRead: true) { () throws(StoreError) in
      do throws(StoreError) { try self.router.admit(key) } catch {
        // An expired value is not moved; it stays under a previous name until it is replaced.
        guard error.kind == .expired || error.kind == .clockBehind else { throw error }
      }
      return try self.versions(of: key)
    }
    let lockFile = try RefreshLockFile.path(for: key.name, in: router)
    let vault = VaultPlace(router.vault.place)
    // A server has one turn for all credentials of a vault.
    let gate = RefreshGate(router: ObjectIdentifier(router), credential: vault.isOnKnownServer ? "" : key.name)
    while true {
      let turn = try await RefreshTurn.take(at: lockFile, of: vault, gate, within: limit)
      var isHandedOn = false
      defer { if !isHandedOn { turn.endAside() } }
      let (present, old, after) = try await CallQueues.call(within: nil, isRead: true) { () throws(StoreError) in
        let present = try self.versions(of: key), old = try self.live(key)
        return (present, old, try old != nil && (present != asked || stale != old) ? nil : self.versions(of: key))
      }
      if after == nil, let old { return .renewed(old) }
      // A value stored before this check is no login during the renewal. Last before the server is asked: if the file is
      // gone, another process has a turn too.
      guard after == present, turn.isAlone(at: lockFile) else { continue }
      isHandedOn = true
      return .turn(turn, old: old, present: present)
    }
  }

  /// Stores the server's answer in place of `present`.
  private func settle<Credential>(
    _ new: Sealed<Credential>, _ key: StorageKey<Sealed<Credential>?, Vault>, replacing present: [RecordVersion]
  ) async throws(StoreError) -> Sealed<Credential> {
    try await CallQueues.run(at: router.vault.place, within: nil) { () throws(StoreError) in
      try self.store(new, key, replacing: present)
      if let stored = try self.live(key) { return stored }
      _ = try self.versions(of: key)
      return new
    }
  }

  /// The credential, unless it has expired.
  package func live<Credential>(
    _ key: StorageKey<Sealed<Credential>?, Vault>
  ) throws(StoreError) -> Sealed<Credential>? {
    do throws(StoreError) {
      let credential = try router.value(for: key)
      return credential?.expires.map { $0 <= clock.now } ?? false ? nil : credential
    } catch {
      guard error.kind == .expired || error.kind == .clockBehind else { throw error }
      return nil
    }
  }

  private func store<Credential>(
    _ new: Sealed<Credential>, _ key: StorageKey<Sealed<Credential>?, Vault>, replacing old: [RecordVersion]
  ) throws(StoreError) {
    try router.transaction { (transaction) throws(StoreError) in
      let present = try versions(of: key)
      guard present == old else {
        throw StoreError(
          .conflict, "another login came while the credential was renewed", key: key.name, place: router.vault.place,
          cure: "use the credential of that login; the renewed one was dropped")
      }
      for (name, version) in zip(key.names, old) { transaction.expect(version, of: name) }
      try transaction.set(new, for: key)
    }
  }

  /// The versions of the values under the key's name and its former names, including expired ones.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/notFound`` if there are none.
  private func versions<Credential>(of key: StorageKey<Sealed<Credential>?, Vault>) throws(StoreError) -> [RecordVersion] {
    var versions: [RecordVersion] = []
    // The key's own name last: a value that moves to it meanwhile is then not missed under both names.
    for name in key.names.reversed() { versions.append(try router.vault.version(of: name)) }
    guard versions.contains(where: { $0 != .absent }) else { throw loggedOut(key.name) }
    return versions.reversed()
  }

  private func loggedOut(_ key: String) -> StoreError {
    StoreError(.notFound, "nobody is logged in", key: key, place: router.vault.place, cure: "log in first; nothing was stored")
  }
}
