public import CofferPlatform

/// A store of preferences, whose values may lie in several layers.
public protocol LayeredStore: Store where R == Plain {
  /// A lookup of the layers behind a value. The default has one layer, the stored values.
  var layers: LayerLookup { get }

  /// Looks up, now and from now on, the outcomes of batches that were left prepared. Each names its deciding store in
  /// ``Decision/place``. A store that has a lookup keeps its own; it retries a failed lookup when it needs the outcome.
  ///
  /// A router calls this with its vault's lookup. Does nothing by default, for a store that leaves nothing to settle.
  func settle(with decisions: DecisionLookup)

  /// Returns once every acknowledged write survives a power loss, other programs can read it, and no trace is left of secrets
  /// that moved into the vault. The default does nothing, for a store whose writes return in that state.
  func synchronize() throws(StoreError)

  /// Ends the store's use: later calls throw ``/CofferPlatform/StoreError/Kind/closed``. The default does nothing, for a store
  /// without resources.
  func close() throws(StoreError)
}

/// Tells where a preference's value comes from, for messages.
public struct LayerLookup: Sendable {
  /// The layers that have a value for a name, strongest first.
  public let explain: @Sendable (String) throws(StoreError) -> Explanation
  /// The source of a value for a name that is not stored: `the command line`, a variable, a registered value.
  ///
  /// A router refuses to open over a store with such a value for a key of the vault, because the value is in the clear.
  public let unstoredSource: @Sendable (String) -> String?
  /// The names for which ``unstoredSource`` returns the command line or a registered value. Variables cannot be listed: one may
  /// stand for several names.
  public let unstoredNames: @Sendable () -> [String]

  /// A lookup by three functions; without the last two, all values are stored.
  public init(
    explain: @escaping @Sendable (String) throws(StoreError) -> Explanation,
    unstoredSource: @escaping @Sendable (String) -> String? = { _ in nil },
    unstoredNames: @escaping @Sendable () -> [String] = { [] }
  ) {
    self.explain = explain
    self.unstoredSource = unstoredSource
    self.unstoredNames = unstoredNames
  }
}

extension LayeredStore {
  /// The stored preference alone.
  public var layers: LayerLookup {
    LayerLookup { (name) throws(StoreError) in
      let form = try load(name)
      return Explanation(key: name, sources: form.map { [Explanation.Source(layer: .domain, place: place, form: $0)] } ?? [])
    }
  }

  /// The layers that have a value for `name`, strongest first.
  public func explain(_ name: String) throws(StoreError) -> Explanation { try layers.explain(name) }

  /// Does nothing.
  public func settle(with decisions: DecisionLookup) {}

  /// Nothing is left to do.
  public func synchronize() throws(StoreError) {}

  /// Nothing has to be given back.
  public func close() throws(StoreError) {}
}
