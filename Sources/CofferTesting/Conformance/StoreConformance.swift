internal import CofferPlatform
public import CofferStorage

/// The suite that every store must pass.
///
/// ```swift
/// @Test(arguments: ConformanceCheck.allCases) func conforms(check: ConformanceCheck) async throws {
///   try await StoreConformance<Plain>("MyStore") { MyStore() }.run(check)
/// }
/// ```
///
/// It needs no testing library and throws ``ConformanceFailure``.
public struct StoreConformance<R: Route>: Sendable {
  /// A fresh, empty store, with optional operations outside the protocol.
  public struct Subject: Sendable {
    /// The store.
    public let store: any Store<R>
    /// Opens the same place again, like another process; nil for a store without a place.
    let reopen: (@Sendable () throws -> Subject)?
    /// Closes the store; nil for one that cannot be closed.
    let close: (@Sendable () throws -> Void)?
    let contains: @Sendable (String) throws(StoreError) -> Bool
    /// Nil for a store of preferences, which has neither.
    let version: (@Sendable (String) throws(StoreError) -> R.Stamp)?
    let sessionItems: (@Sendable () throws(StoreError) -> [String: R.Stamp])?
  }

  /// Optional abilities of stores.
  public struct Abilities: Sendable {
    /// Holds writes back until a decision is made elsewhere. A store without this ability must throw `.unsupported`.
    public var prepares = true
    /// Records that a transaction happened. A store without this ability must throw `.unsupported`.
    public var decides = true
    /// Reports changes. A store without this ability must have a feed that has ended.
    public var tellsChanges = true
    /// The most bytes of a value; nil if only memory is a limit.
    public var largestValue: Int?

    /// All abilities.
    public init() {}
  }

  let name: String
  let abilities: Abilities
  let samples: Samples<R>
  let exceptions: [ConformanceCheck: String]
  let make: @Sendable () throws -> Subject
  /// The longest wait for an event. Only a store that reports nothing takes all of it; a busy machine needs time.
  package var patience = Duration.seconds(60)

  init(
    _ name: String, _ abilities: Abilities, _ samples: Samples<R>, _ exceptions: [ConformanceCheck: String],
    _ make: @escaping @Sendable () throws -> Subject
  ) {
    self.name = name
    self.abilities = abilities
    self.samples = samples
    self.exceptions = exceptions
    self.make = make
  }

  /// Runs every check, and stops at the first failure.
  ///
  /// - Throws: ``ConformanceFailure``.
  public func run() async throws(ConformanceFailure) {
    for check in ConformanceCheck.allCases { try await run(check) }
  }

  /// Runs one check on its own store. An excepted check must fail: if it passes, the exception is outdated.
  ///
  /// - Throws: ``ConformanceFailure``.
  public func run(_ check: ConformanceCheck) async throws(ConformanceFailure) {
    do throws(ConformanceFailure) { try await perform(check) } catch {
      if exceptions[check] != nil { return }
      throw error
    }
    if let reason = exceptions[check] {
      throw ConformanceFailure(
        store: name, check: check, what: "passes, although it is an exception because \(reason)", underlying: nil)
    }
  }

  private func perform(_ check: ConformanceCheck) async throws(ConformanceFailure) {
    do {
      let examination = Examination(check: check, suite: self, subject: try make())
      try await examination.perform()
    } catch let failure as ConformanceFailure {
      throw failure
    } catch {
      throw ConformanceFailure(store: name, check: check, what: "a call threw", underlying: error)
    }
  }
}

extension StoreConformance where R == Plain {
  /// The suite for a store of preferences.
  ///
  /// - Parameters:
  ///   - name: the store's name in failures.
  ///   - abilities: its optional abilities.
  ///   - exceptions: checks that this store cannot pass, each with the reason. They must fail.
  ///   - make: a fresh, empty store.
  public init(
    _ name: String, abilities: Abilities = Abilities(), exceptions: [ConformanceCheck: String] = [:],
    subject make: @escaping @Sendable () throws -> Subject
  ) {
    self.init(name, abilities, .plain, exceptions, make)
  }

  /// The suite for a store that can be neither closed nor reopened.
  public init(
    _ name: String, abilities: Abilities = Abilities(), exceptions: [ConformanceCheck: String] = [:],
    make: @escaping @Sendable () throws -> any LayeredStore
  ) {
    self.init(name, abilities, .plain, exceptions) { () throws -> Subject in try Subject(make()) }
  }
}

extension StoreConformance.Subject where R == Plain {
  /// A store of preferences.
  public init(
    _ store: some LayeredStore, reopen: (@Sendable () throws -> any LayeredStore)? = nil,
    close: (@Sendable () throws -> Void)? = nil
  ) {
    self.init(
      store: store, reopen: reopen.map(Self.opening), close: close, contains: store.contains, version: nil,
      sessionItems: nil)
  }

  private static func opening(_ open: @escaping @Sendable () throws -> any LayeredStore) -> @Sendable () throws -> Self {
    { try Self(open()) }
  }
}

extension StoreConformance where R == Vault {
  /// The suite for a store of secrets; see the initializer for preferences.
  public init(
    _ name: String, abilities: Abilities = Abilities(), exceptions: [ConformanceCheck: String] = [:],
    subject make: @escaping @Sendable () throws -> Subject
  ) {
    self.init(name, abilities, .secret, exceptions, make)
  }

  /// The suite for a store that can be neither closed nor reopened.
  public init(
    _ name: String, abilities: Abilities = Abilities(), exceptions: [ConformanceCheck: String] = [:],
    make: @escaping @Sendable () throws -> any DecidingStore
  ) {
    self.init(name, abilities, .secret, exceptions) { () throws -> Subject in try Subject(make()) }
  }
}

extension StoreConformance.Subject where R == Vault {
  /// A store of secrets.
  public init(
    _ store: some DecidingStore, reopen: (@Sendable () throws -> any DecidingStore)? = nil,
    close: (@Sendable () throws -> Void)? = nil
  ) {
    self.init(
      store: store, reopen: reopen.map(Self.opening), close: close, contains: store.contains,
      version: store.version, sessionItems: store.sessionItems)
  }

  private static func opening(_ open: @escaping @Sendable () throws -> any DecidingStore) -> @Sendable () throws -> Self {
    { try Self(open()) }
  }
}
