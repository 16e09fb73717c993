public import CofferPlatform
public import CofferStorage
internal import Synchronization

extension DefaultsStore {
  /// The store of the domain of `UserDefaults.standard`, named after the executable, beneath the program's command line.
  ///
  /// ```swift
  /// init(defaults: any LayeredStore = DefaultsStore.standard)
  /// ```
  ///
  /// Its first use opens it for the life of the process. If that fails, the call throws, and the next one tries again.
  public static let standard = Standard()

  /// The type of ``standard``.
  public final class Standard: LayeredStore {
    /// Serves the plain route.
    public typealias R = Plain
    private struct State {
      var store: DefaultsStore?
      var decisions: DecisionLookup?
    }
    private let state = Mutex(State())
    /// The changes of the store. If it cannot be opened, subscribing throws, and may be tried again.
    public let changes: ChangeFeed

    fileprivate init() {
      changes = ChangeFeed { (feed) throws(StoreError) in
        try DefaultsStore.standard.store().changes.subscribe { [weak feed] event in feed?.send(event) }
      }
    }

    /// Not public: the store belongs to the whole process, and nobody may close it.
    package func store() throws(StoreError) -> DefaultsStore {
      try state.withLock { (state) throws(StoreError) in
        if let store = state.store { return store }
        let new = try DefaultsStore.open(domain: DefaultsDomain.standardName, arguments: Self.arguments)
        if let decisions = state.decisions { new.settle(with: decisions) }
        state.store = new
        return new
      }
    }

    private static var arguments: [String] { Array(CommandLine.arguments.dropFirst()) }

    /// The property list's path, or the domain's name if the list cannot be opened.
    public var place: String {
      do throws(StoreError) { return try store().place } catch { return DefaultsDomain.standardName }
    }
    /// The strongest layer's value of `name`.
    public func load(_ name: String) throws(StoreError) -> PlainForm? { try store().load(name) }
    /// Several values from one moment.
    public func load(_ names: [String]) throws(StoreError) -> [Reading<Plain>] { try store().load(names) }
    /// All names with a value, ascending.
    public func names() throws(StoreError) -> [String] { try store().names() }
    /// Stores `form`; nil removes the value.
    public func save(_ form: PlainForm?, for name: String) throws(StoreError) { try store().save(form, for: name) }
    /// Reads, changes and writes in one step.
    public func update(_ name: String, _ body: (PlainForm?) throws(StoreError) -> PlainForm?) throws(StoreError) {
      try store().update(name, body)
    }
    /// Commits all of `batch`, or nothing.
    public func commit(_ batch: Batch<Plain>, decision: Decision?) throws(StoreError) {
      try store().commit(batch, decision: decision)
    }
    /// Sets the lookup for transactions whose processes died, once the store is open.
    public func settle(with decisions: DecisionLookup) {
      let opened = state.withLock { state in
        state.decisions = state.decisions ?? decisions
        return state.store
      }
      opened?.settle(with: decisions)
    }
    /// The layers of the store. If it cannot be opened, the command line alone.
    public var layers: LayerLookup {
      do throws(StoreError) { return try store().layers } catch {
        let arguments = LaunchArguments(Self.arguments)
        return LayerLookup(
          explain: { (name) throws(StoreError) in try self.store().explain(name) },
          unstoredSource: { arguments[$0].map { _ in "the command line" } }, unstoredNames: { arguments.names })
      }
    }
    /// Returns once all values are on the disk.
    public func synchronize() throws(StoreError) { try store().synchronize() }
    /// Acts as ``synchronize()``: the store stays open for the rest of the process.
    public func close() throws(StoreError) { try synchronize() }
  }
}
