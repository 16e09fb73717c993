public import CofferPlatform

/// A place for values of one route, addressed by name.
///
/// A store moves forms and knows no Swift types. All of its writes are acknowledged: once a call returns, the value survives
/// the death of the process. Several processes may use one store's files at once. Every conformance passes the conformance
/// suite of `CofferTesting`.
public protocol Store<R>: Sendable {
  /// The route this store serves.
  associatedtype R: Route

  /// Where the values are, for messages: a path, or a word.
  var place: String { get }

  /// The part of ``place`` that this store serves, where others serve the rest: a vault's service, or what a domain's names begin
  /// with. Without an implementation of its own a store serves all of it: the part is empty.
  var part: String { get }

  /// The value of `name`; nil when absent, and for no other reason.
  func load(_ name: String) throws(StoreError) -> R.Form?

  /// Several values from one moment, each with the stamp that ``commit(_:decision:)`` compares. In the order of `names`.
  ///
  /// A reading's form is what ``load(_:)-(String)`` gives, overrides included; its stamp tells of the stored value alone, and its
  /// base is what ``update(_:_:)`` begins with.
  func load(_ names: [String]) throws(StoreError) -> [Reading<R>]

  /// Whether `name` has a value, without opening it.
  func contains(_ name: String) throws(StoreError) -> Bool

  /// All names with a value, ascending, without opening any.
  func names() throws(StoreError) -> [String]

  /// Replaces the value of `name`; nil removes it. An unchanged plain value is not written.
  func save(_ form: R.Form?, for name: String) throws(StoreError)

  /// Replaces the value of `name` by what `body` makes of it, atomically across processes. It gets what a read gives, but for an
  /// override. `body` runs under the store's lock; a call into any store from inside it throws
  /// ``/CofferPlatform/StoreError/Kind/reentrant``. An error from `body` changes nothing.
  func update(_ name: String, _ body: (R.Form?) throws(StoreError) -> R.Form?) throws(StoreError)

  /// Applies all of `batch`, or nothing.
  ///
  /// With a `decision`, the writes are first made durable as prepared, then the decision is made elsewhere, and they take effect
  /// when it returns; when it throws they are dropped. When it throws ``/CofferPlatform/StoreError/Kind/outcomeUnknown``, they
  /// are neither: a store that outlives its process keeps them prepared until the outcome is learnt. The store's lock is held
  /// from the comparison of the expectations until the end. With ``Batch/decides``, the id is recorded in the same atomic step as
  /// the writes and kept until ``forget(_:)``; where it is recorded as given up already, the batch is refused.
  ///
  /// A batch without writes compares its expectations and makes the decision, all under the lock, and leaves no trace: it needs
  /// no place that can be written.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/conflict`` when an expectation does not hold, before anything is written; what
  ///   the decision throws, unchanged; ``/CofferPlatform/StoreError/Kind/pending(_:)`` where the decision's outcome is not known
  ///   and could not be learnt; ``/CofferPlatform/StoreError/Kind/outcomeUnknown`` where this store cannot tell whether the batch
  ///   was applied. After any other error nothing was changed, and nothing comes back later.
  func commit(_ batch: Batch<R>, decision: Decision?) throws(StoreError)

  /// Drops the record of a decided transaction, once every participant has applied it. Unknown ids are ignored.
  func forget(_ transaction: TransactionID) throws(StoreError)

  /// How any process learns what became of the transactions that this store decided, by the file at ``place`` alone.
  ///
  /// Without an implementation of its own a store has no way that outlives the process.
  var decisions: DecisionLookup? { get }

  /// Learns by `decisions`, at once and from now on, the outcomes of batches that were left prepared. Which store decided one,
  /// its ``Decision/place`` says. A store that has a way already keeps it; what cannot be learnt at once is tried again when it
  /// is needed.
  ///
  /// A router calls it with what its vault lends. Without an implementation of its own a store does nothing: nothing that it
  /// keeps prepared outlives the process.
  func settle(with decisions: DecisionLookup)

  /// Whether another store that has its values in the same database may add its writes to the transaction of a
  /// ``commit(_:decision:)``. Without an implementation of its own a store shares none.
  var sharesTransactions: Bool { get }

  /// The stamp of the stored value of `name`, without opening it: of an expired one too, whose value nobody gets.
  ///
  /// Without an implementation of its own a store reads the value, and an expired one throws.
  func version(of name: String) throws(StoreError) -> R.Stamp

  /// The items that say of themselves, in their metadata, that a logout removes them; with their stamps, from one moment.
  ///
  /// Without an implementation of its own a store of secrets reads all of its values, and an expired one throws. Preferences have
  /// no metadata: there are none among them.
  func sessionItems() throws(StoreError) -> [String: R.Stamp]

  /// Which layers have a value for `name`, strongest first. Secrets have no layers: nothing is told of them.
  ///
  /// Without an implementation of its own a store has one layer, of what is stored.
  func explain(_ name: String) throws(StoreError) -> Explanation

  /// What has a value for `name` and is no part of what is stored, for messages: `the command line`, a variable, a registered
  /// value.
  ///
  /// A router does not open over a store where something has one for a key of the vault: values of that kind are in the clear.
  /// Without an implementation of its own a store has stored values alone.
  func unstoredSource(of name: String) -> String?

  /// The names for which ``unstoredSource(of:)`` tells of a command line or a registered value, as far as they can be listed.
  /// Variables cannot: one may stand for several names. Without an implementation of its own a store has stored values alone.
  var unstoredNames: [String] { get }

  /// Returns once everything that was acknowledged survives a power loss and other programs can read it, and no trace is left of
  /// secrets that went into the vault. Without an implementation of its own a store has that done when a write returns.
  func synchronize() throws(StoreError)

  /// Ends the store's use: later calls throw ``/CofferPlatform/StoreError/Kind/closed``. Without an implementation of its own a
  /// store holds nothing that has to be given back, and goes on.
  func close() throws(StoreError)

  /// What is told of changes to stored values, whoever made them, once they are acknowledged and in their order. A write that
  /// changes nothing is none. A store that is closed ends its feed.
  ///
  /// Without an implementation of its own a store tells nothing: its feed has ended, and so do the sequences over its keys, after
  /// the present value.
  var changes: ChangeFeed { get }
}

extension Store {
  /// All of the place.
  public var part: String { "" }

  /// The stamp that a reading has.
  public func version(of name: String) throws(StoreError) -> R.Stamp { try load([name])[0].stamp }

  /// The values whose metadata says so.
  public func sessionItems() throws(StoreError) -> [String: R.Stamp] {
    guard R.self == Vault.self else { return [:] }
    let names = try names()
    var marked: [String: R.Stamp] = [:]
    for (name, reading) in zip(names, try load(names)) {
      if let form = reading.form as? SecretForm, form.metadata.isSessionItem { marked[name] = reading.stamp }
    }
    return marked
  }

  /// The stored preference.
  public func explain(_ name: String) throws(StoreError) -> Explanation {
    guard R.self == Plain.self, let form = try load(name) as? PlainForm else { return Explanation(key: name, sources: []) }
    return Explanation(key: name, sources: [Explanation.Source(layer: .domain, place: place, form: form)])
  }

  /// No transaction is shared.
  public var sharesTransactions: Bool { false }

  /// Nothing is left to do.
  public func synchronize() throws(StoreError) {}

  /// Nothing has to be given back.
  public func close() throws(StoreError) {}

  /// Nothing.
  public func unstoredSource(of name: String) -> String? { nil }

  /// None.
  public var unstoredNames: [String] { [] }

  /// Nothing is told.
  public var changes: ChangeFeed { .ended }

  /// A single write is a batch of one.
  public func save(_ form: R.Form?, for name: String) throws(StoreError) {
    var batch = Batch<R>()
    batch.writes[name] = Write(form)
    try commit(batch, decision: nil)
  }
}

/// What a store held for a name at one moment.
public struct Reading<R: Route>: Sendable {
  /// The value; nil when absent.
  public let form: R.Form?
  /// What `update` begins with: the strongest layer's value but for an override.
  public let base: R.Form?
  /// Changes whenever the stored value does.
  public let stamp: R.Stamp

  /// A reading of `form` at `stamp`, in a store without layers.
  public init(form: R.Form?, stamp: R.Stamp) {
    self.init(form: form, base: form, stamp: stamp)
  }

  /// A reading of `form` at `stamp`, where an update begins with `base`.
  public init(form: R.Form?, base: R.Form?, stamp: R.Stamp) {
    self.form = form
    self.base = base
    self.stamp = stamp
  }
}

/// A change to one name.
public enum Write<Form: Sendable>: Sendable {
  /// Store this.
  case set(Form)
  /// Remove what is there.
  case remove

  /// ``set(_:)`` of a value, ``remove`` for nil.
  public init(_ form: Form?) { self = form.map(Write.set) ?? .remove }

  /// The value to store; nil to remove.
  public var form: Form? {
    if case .set(let form) = self { form } else { nil }
  }
}

/// Writes that happen together or not at all.
public struct Batch<R: Route>: Sendable {
  /// What must still be so when the batch is applied.
  public var expectations: [String: R.Stamp] = [:]
  /// The changes.
  public var writes: [String: Write<R.Form>] = [:]
  /// Records, in the same atomic step, that this transaction was committed.
  public var decides: TransactionID?
  /// Values move between names, forms or stores and nobody means anything else by them. Only observers are told.
  public var isMigration = false
  /// The writes of another store in the same database, which go into the same transaction.
  package var companion: (any CompanionWrites)?

  /// An empty batch.
  public init() {}

  /// What observers are told of `write`, where it changes something.
  public func cause(of write: Write<R.Form>) -> Change.Cause {
    if isMigration { return .migrated }
    return write.form == nil ? .removed : .set
  }
}

/// The step in another store on which a prepared batch depends.
public struct Decision {
  /// The file whose record decides, so that any later process can look the outcome up.
  public let place: String
  /// Makes the decision, and records it under the id; nil where nothing was prepared, so that nobody will ask for it. Throwing
  /// ``/CofferPlatform/StoreError/Kind/outcomeUnknown`` means that it may have been made; throwing anything else, that it was not
  /// and never will be.
  public let make: (TransactionID?) throws(StoreError) -> Void
  /// What ``make`` does in the other store, as far as that is known.
  package let kind: Kind

  /// What a decision does in the store that makes it.
  package enum Kind {
    /// It reads and compares, and changes nothing.
    case comparison
    /// It commits in a transaction that makes the writes of another store in the same database too, which the closure gets.
    case shared((any CompanionWrites) throws(StoreError) -> Void)
    /// It may commit by itself.
    case own
  }

  /// A decision recorded in the file `place`.
  public init(place: String, make: @escaping (TransactionID?) throws(StoreError) -> Void) {
    self.init(place: place, kind: .own, make: make)
  }

  package init(place: String, kind: Kind, make: @escaping (TransactionID?) throws(StoreError) -> Void) {
    self.place = place
    self.kind = kind
    self.make = make
  }
}

/// The writes of a plain store that a vault in the same database makes in its own transaction. Both are of one kind of server, which
/// knows what is behind this.
package protocol CompanionWrites: AnyObject, Sendable {}

/// What became of a transaction over both stores, as the store that decides it has recorded.
public enum TransactionOutcome: Sendable, Equatable {
  /// Its half of the deciding store was made in the same atomic step as this record.
  case committed
  /// It was given up: nothing of it was made, and nothing of it can be any more.
  case dropped
}
