public import CofferPlatform

/// A store of secrets, which decides transactions over both stores. A write that it acknowledges survives a power loss.
public protocol DecidingStore: Store where R == Vault {
  /// A lookup by which any process learns the outcome of the transactions that this store decided, from the file at
  /// ``Store/place`` alone. Nil by default: no record outlives the process.
  var decisions: DecisionLookup? { get }

  /// The stamp of the stored value of `name`, without opening it, even if it has expired; ``RecordVersion/absent`` if there is
  /// none.
  ///
  /// The default reads the value, and throws if it has expired.
  func version(of name: String) throws(StoreError) -> RecordVersion

  /// The items that a logout removes according to their own metadata, with their stamps, from one moment.
  ///
  /// The default reads all values, and throws for an expired one.
  func sessionItems() throws(StoreError) -> [String: RecordVersion]
}

extension DecidingStore {
  /// Nil: the outcome of a transaction that this store decided dies with its process.
  public var decisions: DecisionLookup? { nil }

  /// Whether `name` has a value, expired or not, without opening it.
  public func contains(_ name: String) throws(StoreError) -> Bool { try version(of: name) != .absent }

  /// The stamp that a reading has.
  public func version(of name: String) throws(StoreError) -> RecordVersion { try load([name])[0].stamp }

  /// The values whose metadata says so.
  public func sessionItems() throws(StoreError) -> [String: RecordVersion] {
    let names = try names()
    var marked: [String: RecordVersion] = [:]
    for (name, reading) in zip(names, try load(names)) where reading.form?.metadata.isSessionItem == true {
      marked[name] = reading.stamp
    }
    return marked
  }
}
