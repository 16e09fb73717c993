internal import CofferClient
public import CofferPlatform
public import CofferStorage
public import CofferVault

/// The items of one service, kept by the user's agent: a program reads and writes secrets without a secret of its own.
///
/// It behaves as the vault's own store does, with two differences. While the agent is locked every call throws
/// ``/CofferPlatform/StoreError/Kind/locked``; without an agent it throws ``/CofferPlatform/StoreError/Kind/noAgent``. After
/// `coffer unlock` calls are answered again. It reports no changes: its feed has ended.
public final class AgentStore: DecidingStore {
  /// Serves the vault's route.
  public typealias R = Vault

  let client: AgentClient
  /// The service of these items: an app's domain.
  public let service: String
  /// The vault's path, which decides transactions with the plain store.
  public let place: String

  /// A store over the agent of `client`.
  ///
  /// - Parameters:
  ///   - service: an app's domain.
  ///   - vault: the vault's place; a relative path begins at the current folder.
  ///   - client: asks the agent.
  /// - Throws: ``/CofferPlatform/StoreError/Kind/invalidName`` for a bad service name.
  public convenience init(service: String, vault: VaultPlace, client: AgentClient) throws(StoreError) {
    // A prepared batch names this place, and may be settled from another folder.
    try self.init(service: service, place: vault.absolute().description, client: client)
  }

  private init(service: String, place: String, client: AgentClient) throws(StoreError) {
    self.service = try StoredName.check(service, as: "service")
    self.place = place
    self.client = client
  }

  /// A store of another service in the same vault, over the same agent.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/invalidName`` for a bad service name.
  public func store(ofService service: String) throws(StoreError) -> AgentStore {
    try AgentStore(service: service, place: place, client: client)
  }

  /// The value of the item `name`; nil if there is none.
  public func load(_ name: String) throws(StoreError) -> SecretForm? { try load([name]).first?.form }

  /// Several values from one moment.
  public func load(_ names: [String]) throws(StoreError) -> [Reading<Vault>] {
    let readings = try client.ask(Calls.load, service, names)
    guard readings.count == names.count else { throw FrameReader.malformed("it has too many or too few answers") }
    return readings
  }

  /// Whether there is an item `name`, expired or not.
  public func contains(_ name: String) throws(StoreError) -> Bool {
    try client.ask(Calls.contains, service, name)
  }

  /// The accounts of the service's items, ascending.
  public func names() throws(StoreError) -> [String] {
    try client.names(of: service, prefix: "")
  }

  /// Times an update is tried while others keep changing the same item.
  private static let attempts = 100
  /// The longest pause before another try, in microseconds: a few commits' time.
  private static let longestPause: UInt32 = 20_000

  /// Read, change and write in one step. The agent does not wait for a client's closure: `body` runs on the value that was read,
  /// and again if somebody else changed it before the write.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/busy`` if others were always first.
  public func update(_ name: String, _ body: (SecretForm?) throws(StoreError) -> SecretForm?) throws(StoreError) {
    for attempt in 1...Self.attempts {
      let reading = try load([name])[0]
      let new = try Reentrancy.inside { () throws(StoreError) in try body(reading.form) }
      guard new != nil || reading.form != nil else { return }
      var batch = Batch<Vault>()
      batch.expectations[name] = reading.stamp
      batch.writes[name] = Write(new)
      do throws(StoreError) { return try commit(batch, decision: nil) } catch {
        guard error.kind == .conflict else { throw error }
      }
      usleep(.random(in: 0...min(Self.longestPause, UInt32(attempt) * 500)))
    }
    throw StoreError(
      .busy, "other processes changed the item \(Self.attempts) times before it could be written", key: name, place: place,
      cure: "try again")
  }

  /// All of `batch` in one transaction of the vault, or nothing. A vault decides transactions and is never prepared.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/unsupported`` for a `decision`,
  ///   ``/CofferPlatform/StoreError/Kind/tooLarge(limit:)`` for more than the agent takes in one message: four of the
  ///   largest values, ``/CofferPlatform/StoreError/Kind/outcomeUnknown`` if the agent does not answer.
  public func commit(_ batch: Batch<Vault>, decision: Decision?) throws(StoreError) {
    guard decision == nil else {
      throw StoreError(
        .unsupported, "a vault cannot wait for another store's decision", place: place,
        cure: "prepare the plain store and let the vault decide")
    }
    if let transaction = batch.forgets {
      _ = try client.ask(Calls.forget, transaction)
      return
    }
    try client.ask(.commit, isWrite: true) { (writer) throws(StoreError) in
      try writer.put(service, batch)
    } answer: { (_) throws(StoreError) in
    }
  }

  /// The vault's record of transactions, readable without a key.
  public var decisions: DecisionLookup? { DecidedTransactions.lookup }
}

// Reads the items' versions and descriptions for a session, also of expired items, and no value.
extension AgentStore {
  /// The service of these items.
  public var part: String { service }

  /// The version of the item `name`, expired or not; `.absent` if there is none.
  public func version(of name: String) throws(StoreError) -> RecordVersion {
    try client.ask(Calls.version, service, name)
  }

  /// The items that a logout removes, expired ones too, with their versions.
  public func sessionItems() throws(StoreError) -> [String: RecordVersion] {
    let items = try client.ask(Calls.marked, service)
    return Dictionary(items.map { ($0.name, $0.version) }) { $1 }
  }
}
