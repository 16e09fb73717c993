public import CofferStorage

/// The suite that every store must pass.
///
/// ```swift
/// @Test(arguments: ConformanceCheck.allCases) func conforms(check: ConformanceCheck) async throws {
///   try await StoreConformance<Plain>("MyStore") { MyStore() }.run(check)
/// }
/// ```
///
/// It uses no testing library and throws ``ConformanceFailure``, so that it runs under any.
public struct StoreConformance<R: Route>: Sendable {
  /// A fresh, empty store, and what can be done with it beside the protocol.
  public struct Subject: Sendable {
    /// The store.
    public let store: any Store<R>
    /// Opens the same place once more, as another process would; nil for a store that has no place.
    public var reopen: (@Sendable () throws -> any Store<R>)?
    /// Closes the store; nil for one that cannot be closed.
    public var close: (@Sendable () throws -> Void)?

    /// A subject.
    public init(
      _ store: any Store<R>, reopen: (@Sendable () throws -> any Store<R>)? = nil, close: (@Sendable () throws -> Void)? = nil
    ) {
      self.store = store
      self.reopen = reopen
      self.close = close
    }
  }

  /// The abilities that only some kinds of stores have.
  public struct Abilities: Sendable {
    /// Holds writes back until a decision is made elsewhere. A store that cannot must say so with `.unsupported`.
    public var prepares = true
    /// Records that a transaction happened. A store that cannot must say so with `.unsupported`.
    public var decides = true
    /// Tells of changes. A store that does not must have a feed that has ended.
    public var tellsChanges = true
    /// Bytes of a value, at most; nil where only memory is a limit.
    public var largestValue: Int?

    /// All of it.
    public init() {}
  }

  let name: String
  let abilities: Abilities
  let samples: Samples<R>
  let exceptions: [ConformanceCheck: String]
  let make: @Sendable () throws -> Subject
  /// How long an event may take: only a store that does not tell at all is waited for in vain, and a busy machine takes its time.
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

  /// Runs one check on a store of its own. A check that is an exception must fail: one that passes is an exception no more.
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
  ///   - abilities: its abilities beyond the least.
  ///   - exceptions: checks that this store cannot pass, each with the reason. They must fail.
  ///   - make: a fresh, empty store.
  public init(
    _ name: String, abilities: Abilities = Abilities(), exceptions: [ConformanceCheck: String] = [:],
    subject make: @escaping @Sendable () throws -> Subject
  ) {
    self.init(name, abilities, .plain, exceptions, make)
  }

  /// The suite for a store that can neither be closed nor opened again.
  public init(
    _ name: String, abilities: Abilities = Abilities(), exceptions: [ConformanceCheck: String] = [:],
    make: @escaping @Sendable () throws -> any Store<Plain>
  ) {
    self.init(name, abilities, .plain, exceptions) { Subject(try make()) }
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

  /// The suite for a store that can neither be closed nor opened again.
  public init(
    _ name: String, abilities: Abilities = Abilities(), exceptions: [ConformanceCheck: String] = [:],
    make: @escaping @Sendable () throws -> any Store<Vault>
  ) {
    self.init(name, abilities, .secret, exceptions) { Subject(try make()) }
  }
}
