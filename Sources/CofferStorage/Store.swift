public import CofferPlatform

/// A place for values of one route, addressed by name.
///
/// A store moves forms and knows no Swift types. It acknowledges every write: once a call returns, the value survives the death
/// of the process. Several processes may use one store's files at once. Every conformance passes the conformance suite of
/// `CofferTesting`.
///
/// A store of secrets is a ``DecidingStore``, a store of preferences a ``LayeredStore``.
public protocol Store<R>: Sendable {
  /// The route this store serves.
  associatedtype R: Route

  /// The location of the values, for messages: a path, or a word.
  var place: String { get }

  /// The part of ``place`` that this store serves, such as a vault's service or a prefix of a domain's names. Empty by default:
  /// the store serves all of it.
  var part: String { get }

  /// The value of `name`; nil only if absent.
  func load(_ name: String) throws(StoreError) -> R.Form?

  /// Several values from one moment, in the order of `names`, each with the stamp that ``commit(_:decision:)`` compares.
  ///
  /// The form includes overrides, as ``load(_:)-(String)`` does. The stamp is that of the stored value alone, and
  /// ``update(_:_:)`` begins with the base.
  func load(_ names: [String]) throws(StoreError) -> [Reading<R>]

  /// All names with a value, ascending, without opening any.
  func names() throws(StoreError) -> [String]

  /// Replaces the value of `name`; nil removes it. An unchanged plain value is not written.
  func save(_ form: R.Form?, for name: String) throws(StoreError)

  /// Replaces the value of `name` by the result of `body`, atomically across processes. `body` gets the current value without
  /// overrides. It runs under the store's lock; a call into any store from inside it throws
  /// ``/CofferPlatform/StoreError/Kind/reentrant``. An error from `body` changes nothing.
  func update(_ name: String, _ body: (R.Form?) throws(StoreError) -> R.Form?) throws(StoreError)

  /// Applies all of `batch`, or nothing.
  ///
  /// With a `decision`, the writes are first made durable as prepared. Then the decision is made elsewhere. The writes take
  /// effect if it returns, and are dropped if it throws. If it throws ``/CofferPlatform/StoreError/Kind/outcomeUnknown``, a store
  /// that outlives its process keeps them prepared until the outcome is known. The store holds its lock from the comparison of
  /// the expectations to the end. With ``Batch/decides``, the store records the id in the same atomic step as the writes and
  /// keeps it until a batch ``Batch/forgets`` it; it refuses the batch if the id is already recorded as dropped.
  ///
  /// A batch without writes compares its expectations and makes the decision under the lock. It leaves no trace, and works in a
  /// place that cannot be written.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/conflict`` if an expectation does not hold, before anything is written; the
  ///   decision's own error, unchanged; ``/CofferPlatform/StoreError/Kind/pending(_:)`` if the decision's outcome is unknown and
  ///   could not be looked up; ``/CofferPlatform/StoreError/Kind/outcomeUnknown`` if this store cannot tell whether it applied
  ///   the batch. After any other error nothing has changed, and nothing comes back later.
  func commit(_ batch: Batch<R>, decision: Decision?) throws(StoreError)

  /// Acknowledged changes to stored values, by any process, in their order. A write that changes nothing is not reported. Closing
  /// the store ends the feed.
  ///
  /// The default feed has ended already, so sequences over the store's keys end after the current value.
  var changes: ChangeFeed { get }
}

extension Store {
  /// All of the place.
  public var part: String { "" }

  /// A feed that has ended.
  public var changes: ChangeFeed { .ended }

  /// A single write is a batch of one.
  public func save(_ form: R.Form?, for name: String) throws(StoreError) {
    var batch = Batch<R>()
    batch.writes[name] = Write(form)
    try commit(batch, decision: nil)
  }
}

/// The value that a store held for a name at one moment.
public struct Reading<R: Route>: Sendable {
  /// The value; nil when absent.
  public let form: R.Form?
  /// The value that `update` begins with: the strongest layer's, without overrides.
  public let base: R.Form?
  /// Changes whenever the stored value does.
  public let stamp: R.Stamp
  /// The source of an override, for messages, such as `the command line`; nil for any other value.
  public let source: String?

  /// A reading of `form` at `stamp`, in a store without layers.
  public init(form: R.Form?, stamp: R.Stamp) {
    self.init(form: form, base: form, stamp: stamp)
  }

  /// A reading of `form` from `source` at `stamp`, where an update begins with `base`.
  public init(form: R.Form?, base: R.Form?, stamp: R.Stamp, source: String? = nil) {
    self.form = form
    self.base = base
    self.stamp = stamp
    self.source = source
  }
}

/// A change to one name.
public enum Write<Form: Sendable>: Sendable {
  /// Store this.
  case set(Form)
  /// Remove the current value.
  case remove

  /// ``set(_:)`` of a value, ``remove`` for nil.
  public init(_ form: Form?) { if let form { self = .set(form) } else { self = .remove } }

  /// The value to store; nil to remove.
  public var form: Form? {
    if case .set(let form) = self { form } else { nil }
  }
}

/// Writes that happen together or not at all.
public struct Batch<R: Route>: Sendable {
  /// The stamps that must still be current when the batch is applied.
  public var expectations: [String: R.Stamp] = [:]
  /// The changes.
  public var writes: [String: Write<R.Form>] = [:]
  /// Records, in the same atomic step, that this transaction was committed.
  public var decides: TransactionID?
  /// The record of this decided transaction is dropped, once every participant has applied it. Such a batch does nothing
  /// else, and ignores unknown ids.
  public private(set) var forgets: TransactionID?
  /// Values move between names, forms or stores, and keep their meaning. Only the cause that observers get differs.
  public var isMigration = false
  /// The writes of another store in the same database, which go into the same transaction.
  package var companion: (any CompanionWrites)?

  /// An empty batch.
  public init() {}

  /// A batch that drops the record of `transaction`.
  public init(forgetting transaction: TransactionID) { forgets = transaction }

  /// The cause that observers get for `write` if it changes something.
  public func cause(of write: Write<R.Form>) -> Change.Cause {
    if isMigration { return .migrated }
    return write.form == nil ? .removed : .set
  }
}

/// The step in another store on which a prepared batch depends.
public struct Decision {
  /// The file with the record that decides, so that any later process can look up the outcome.
  public let place: String
  /// Makes the decision, and records it under the id; nil if nothing was prepared and nobody will ask for the outcome.
  /// ``/CofferPlatform/StoreError/Kind/outcomeUnknown`` means that the decision may have been made; any other error, that it was
  /// not and never will be.
  public let make: (TransactionID?) throws(StoreError) -> Void
  /// The effect of ``make`` in the other store, as far as known.
  package let kind: Kind

  /// The effect of a decision in the store that makes it.
  package enum Kind {
    /// It reads and compares.
    case comparison
    /// It commits in a transaction that includes the writes of another store in the same database, which the closure gets.
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

/// The writes of a plain store that a vault in the same database makes in its own transaction. Only that kind of server knows the
/// type behind it.
package protocol CompanionWrites: AnyObject, Sendable {}

/// The outcome of a transaction over both stores, as recorded by the deciding store.
public enum TransactionOutcome: Sendable, Equatable {
  /// Its half in the deciding store was made in the same atomic step as this record.
  case committed
  /// It was given up: nothing of it was made, or ever will be.
  case dropped
}
