internal import CofferPlatform
public import CofferStorage
internal import CofferVault
internal import FoundationEssentials

extension Session {
  /// A renewal takes its server's time; one that takes a minute hangs, and others shall not hang with it.
  public static var longestRefresh: Duration { .seconds(60) }

  /// A fresh credential, renewed once however many tasks and processes ask at the same time.
  ///
  /// One asks the server, under a lock that it holds meanwhile; the others wait, find the credential renewed and take that. The
  /// lock is a file beside the vault, so that whoever uses that vault finds the same one, in whatever environment, and of a vault
  /// on a server a lock there; where it cannot be had no server is asked. The renewed credential is stored only in place of the
  /// one that was there when the renewal began: a logout meanwhile stands, and so does another login.
  ///
  /// - Parameters:
  ///   - key: the credential's key, or another secret of the session.
  ///   - stale: the credential that was found wanting, by a server for example, or that is to be renewed before its time: where
  ///     another one stands by now, that is taken and nothing renewed. Nil for one that has expired, of which nobody gets the
  ///     value: where one that has not expired stands by now, that is taken.
  ///   - limit: how long the renewal may take, and how long others wait for it.
  ///   - renew: gets the present credential, nil when it has expired (the vault hands out none that has; keep what renews it
  ///     under a key of its own), and returns a new one. It is cancelled at the limit, and what it returns later is dropped.
  /// - Returns: the credential that now stands.
  /// - Throws: `StoreError` `.notFound` when nobody is logged in, or no longer; `.conflict` when another login came between;
  ///   `.busy` at the limit; `.locked`; `.readOnly` and `.denied` where the vault's folder cannot be written; what `renew`
  ///   throws. The credential stays as it is then.
  public func refresh<Credential>(
    _ key: StorageKey<Sealed<Credential>?, Vault>, replacing stale: Sealed<Credential>? = nil,
    within limit: Duration = longestRefresh,
    _ renew: @escaping @Sendable (Sealed<Credential>?) async throws -> Sealed<Credential>
  ) async throws -> Sealed<Credential> {
    switch try await begin(key, replacing: stale, within: limit) {
    case .renewed(let credential): return credential
    case .turn(let turn, let old, let present):
      defer { turn.end() }
      let new = try await Deadline.run(within: limit, key: key.name, cure: "try again; nothing was stored") {
        try await renew(old)
      }
      return try settle(new, key, replacing: present)
    }
  }

  /// The same for a renewal that spends its own credential, so that an abandoned one would end the login: once it has begun,
  /// neither the limit nor a cancellation of the calling task reaches it. Both end the waiting alone. The renewal continues, its
  /// result is stored, and nobody else gets a turn before.
  ///
  /// - Parameter renew: ends of itself.
  package func refreshToTheEnd<Credential>(
    _ key: StorageKey<Sealed<Credential>?, Vault>, replacing stale: Sealed<Credential>? = nil,
    within limit: Duration = longestRefresh,
    _ renew: @escaping @Sendable (Sealed<Credential>?) async throws -> Sealed<Credential>
  ) async throws -> Sealed<Credential> {
    switch try await begin(key, replacing: stale, within: limit) {
    case .renewed(let credential): return credential
    case .turn(let turn, let old, let present):
      let work = Task { () async throws -> Sealed<Credential> in
        defer { turn.end() }
        return try settle(try await renew(old), key, replacing: present)
      }
      return try await Deadline.run(within: limit, key: key.name, cure: "try again; the renewal goes on") { try await work.value }
    }
  }

  /// The findings of a refresh.
  private enum Beginning<Credential: Sendable>: Sendable {
    /// Somebody else has renewed the credential.
    case renewed(Sealed<Credential>)
    /// It is to be renewed, in a turn that is to be ended: the credential, nil where it has expired, and its versions.
    case turn(RefreshTurn, old: Sealed<Credential>?, present: [RecordVersion])
  }

  private func begin<Credential>(
    _ key: StorageKey<Sealed<Credential>?, Vault>, replacing stale: Sealed<Credential>?, within limit: Duration
  ) async throws -> Beginning<Credential> {
    do throws(StoreError) { try router.admit(key) } catch {
      // An expired value is not moved, and stays under a former name until it is replaced.
      guard error.kind == .expired || error.kind == .clockBehind else { throw error }
    }
    let asked = try versions(of: key)
    let lockFile = try RefreshLockFile.path(for: key.name, in: router)
    while true {
      let turn = try await RefreshTurn.take(at: lockFile, of: VaultPlace(router.vault.place), gate, within: limit)
      var isHandedOn = false
      defer { if !isHandedOn { turn.end() } }
      let present = try versions(of: key)
      let old = try live(key)
      if let old, present != asked || stale != old { return .renewed(old) }
      // A value that was stored since the versions were read came before the renewal, and is no login during it. Last before the
      // server is asked: without the file, another process has a turn too.
      guard try versions(of: key) == present, turn.isAlone(at: lockFile) else { continue }
      isHandedOn = true
      return .turn(turn, old: old, present: present)
    }
  }

  /// Stores the server's answer in place of `present`.
  private func settle<Credential>(
    _ new: Sealed<Credential>, _ key: StorageKey<Sealed<Credential>?, Vault>, replacing present: [RecordVersion]
  ) throws -> Sealed<Credential> {
    try store(new, key, replacing: present)
    if let stored = try live(key) { return stored }
    _ = try versions(of: key)
    return new
  }

  /// The credential unless it has expired.
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
  ) throws {
    try router.transaction { transaction in
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

  /// The versions of the values under the key's name and its former ones, also of expired ones.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/notFound`` if there are none.
  private func versions<Credential>(of key: StorageKey<Sealed<Credential>?, Vault>) throws(StoreError) -> [RecordVersion] {
    var versions: [RecordVersion] = []
    // The key's own name last: what leaves a former one for it meanwhile is not missed at both.
    for name in key.names.reversed() { versions.append(try router.vault.version(of: name)) }
    guard versions.contains(where: { $0 != .absent }) else { throw loggedOut(key.name) }
    return versions.reversed()
  }

  private func loggedOut(_ key: String) -> StoreError {
    StoreError(.notFound, "nobody is logged in", key: key, place: router.vault.place, cure: "log in first; nothing was stored")
  }
}
