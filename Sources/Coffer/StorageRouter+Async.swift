public import CofferPlatform
public import CofferStorage
internal import CofferVault
public import struct CofferVault.UnlockedVault
public import struct CofferVaultFormat.Credentials

extension StorageRouter {
  /// The asynchronous form of ``synchronize()``.
  ///
  /// - Parameter limit: the longest wait for others' folds; by default as long as the synchronous form waits.
  /// - Throws: the errors of the synchronous form; ``/CofferPlatform/StoreError/Kind/cancelled`` if the task is cancelled
  ///   during the wait, and ``/CofferPlatform/StoreError/Kind/closed`` if the router is closed then: every value is stored.
  nonisolated(nonsending) public func synchronize(within limit: Duration? = nil) async throws(StoreError) {
    try await CallQueues.call(within: limit, of: id) { () throws(StoreError) in try self.synchronize() }
  }

  /// The asynchronous form of ``close()``.
  ///
  /// - Throws: the errors of the synchronous form; the store is closed even then.
  nonisolated(nonsending) public func close() async throws(StoreError) {
    endWaits()
    try await CallQueues.call(within: nil) { () throws(StoreError) in try self.close() }
  }

  /// The asynchronous form of opening a router over the standard vault, which stays locked.
  nonisolated(nonsending) public static func open(
    _ domain: String, keys spaces: any KeySpace..., suites: [String] = [], places: Places? = nil,
    overrides: Overrides = .commandLine, register: (inout Registration) -> Void = { _ in }
  ) async throws(StoreError) -> StorageRouter {
    let places = try places.orStandard()
    return try await opening(domain, spaces, suites, places, overrides, register) { () throws(StoreError) in
      try standardVault(of: domain, in: places)
    }
  }

  /// The asynchronous form of opening a router over the standard vault, unlocked with `credentials`.
  nonisolated(nonsending) public static func open(
    _ domain: String, keys spaces: any KeySpace..., credentials: consuming Credentials, suites: [String] = [],
    places: Places? = nil, overrides: Overrides = .commandLine, register: (inout Registration) -> Void = { _ in }
  ) async throws(StoreError) -> StorageRouter {
    let places = try places.orStandard()
    let given = Handover(credentials)
    return try await opening(domain, spaces, suites, places, overrides, register) { () throws(StoreError) in
      try VaultStore(service: domain, vault: places.openVault().unlock(with: given.take()))
    }
  }

  /// The asynchronous form of opening a router over an open vault.
  nonisolated(nonsending) public static func open(
    _ domain: String, keys spaces: any KeySpace..., vault: consuming UnlockedVault, suites: [String] = [],
    places: Places? = nil, overrides: Overrides = .commandLine, register: (inout Registration) -> Void = { _ in }
  ) async throws(StoreError) -> StorageRouter {
    let store = try VaultStore(service: domain, vault: vault)
    return try await opening(domain, spaces, suites, places, overrides, register) { () in store }
  }

  /// The asynchronous form of opening a router over the caller's store of secrets.
  nonisolated(nonsending) public static func open(
    _ domain: String, keys spaces: any KeySpace..., vault: any DecidingStore, suites: [String] = [], places: Places? = nil,
    overrides: Overrides = .commandLine, register: (inout Registration) -> Void = { _ in }
  ) async throws(StoreError) -> StorageRouter {
    try await opening(domain, spaces, suites, places, overrides, register) { () in vault }
  }

  nonisolated(nonsending) private static func opening(
    _ domain: String, _ spaces: [any KeySpace], _ suites: [String], _ places: Places?, _ overrides: Overrides,
    _ register: (inout Registration) -> Void, _ vault: @escaping @Sendable () throws(StoreError) -> any DecidingStore
  ) async throws(StoreError) -> StorageRouter {
    var registration = Registration()
    register(&registration)
    return try await CallQueues.run(at: domain, within: nil) { [registration] () throws(StoreError) in
      try open(domain, spaces, vault(), suites, places, overrides, registration)
    }
  }
}
