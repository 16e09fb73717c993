public import CofferPlatform
public import CofferStorage
internal import Foundation
internal import Synchronization

/// Foundation's own `UserDefaults` as a store: for a program whose other parts, or libraries, keep their preferences there.
///
/// A program that can choose takes `DefaultsStore` of `CofferDefaults`, which keeps the same files without what this loses. What
/// `UserDefaults` does not promise, this store cannot:
///
/// - A write is in memory when it returns, and on the disk after ``synchronize()``. A process that dies before loses it.
/// - Two processes that write one domain overwrite one another; an update is atomic among the users of one store object, and a
///   batch happens at once for them and not on the disk.
/// - Neither prepares nor decides a transaction: `StorageRouter.transaction(_:)` over this store and a vault
///   throws ``/CofferPlatform/StoreError/Kind/unsupported``. That over plain keys alone works.
/// - Changes are told that were made through this store. Others' are not: Foundation tells that something changed, not what.
/// - It cannot be closed.
/// - Values are not limited in size.
/// - A date loses its fraction of a second on the way to the disk.
///
/// Text that XML cannot hold and dates that are not finite are refused, because Foundation would write a file that it, or another
/// reader, cannot read again: all values of the suite would be lost.
public final class UserDefaultsStore: LayeredStore {
  /// Serves the plain route.
  public typealias R = Plain

  /// The suite's name.
  public let suiteName: String
  /// The suite, for messages.
  public var place: String { "UserDefaults \(suiteName)" }
  /// The writes through this object.
  public let changes = ChangeFeed()

  private let suite: Suite
  /// Makes several calls one step, for all such stores of the process: two of one suite share its values.
  private static let turn = Mutex(())

  private struct Suite: @unchecked Sendable {
    let defaults: UserDefaults
    let name: String

    /// The suite's own values.
    var values: [String: Any] { defaults.persistentDomain(forName: name) ?? [:] }

    func form(_ name: String, _ place: String) throws(StoreError) -> PlainForm? {
      guard let value = values[name] else { return nil }
      if let form = FoundationForm.form(of: value) { return form }
      throw StoreError(
        .undecodable(stored: "\(type(of: value))"), "the stored value is no preference", key: name, place: place,
        cure: "remove the key, or store another value")
    }
  }

  /// The store of the suite `suiteName`, which `UserDefaults(suiteName:)` gives to others.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/invalidName`` for a name that Foundation refuses.
  public init(suiteName: String) throws(StoreError) {
    self.suiteName = try StoredName.check(suiteName, as: "suite")
    guard let suite = Self.turn.withLock({ _ in UserDefaults(suiteName: suiteName).map { Suite(defaults: $0, name: suiteName) } })
    else {
      throw StoreError(.invalidName, "Foundation refuses the suite's name", place: suiteName, cure: "choose another name")
    }
    self.suite = suite
  }

  /// Waits until all writes are on the disk, and reads those of other processes.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/io(_:)`` if Foundation reports a failure. It gives no reason.
  public func synchronize() throws(StoreError) {
    guard Self.turn.withLock({ _ in suite.defaults.synchronize() }) else {
      throw StoreError(
        .io(EIO), "Foundation could not write the preferences", place: place,
        cure: "see that the folder of preferences can be written, and the disk is not full")
    }
  }
}

extension UserDefaultsStore {
  /// The value of `name`, of the suite itself: no argument, no registered value and no other domain answers for it.
  public func load(_ name: String) throws(StoreError) -> PlainForm? {
    try entering { (suite) throws(StoreError) in try suite.form(name, place) }
  }

  /// Several values from one moment.
  public func load(_ names: [String]) throws(StoreError) -> [Reading<Plain>] {
    try entering { (suite) throws(StoreError) in
      var readings: [Reading<Plain>] = []
      for name in names {
        let form = try suite.form(name, place)
        readings.append(Reading(form: form, stamp: form))
      }
      return readings
    }
  }

  /// All names with a value, ascending.
  public func names() throws(StoreError) -> [String] {
    try entering { (suite) throws(StoreError) in suite.values.keys.sorted() }
  }

  /// Replaces the value of `name` by what `body` makes of it.
  public func update(
    _ name: String, _ body: (PlainForm?) throws(StoreError) -> PlainForm?
  ) throws(StoreError) {
    try StoredName.check(name)
    try entering { (suite) throws(StoreError) in
      let old = try suite.form(name, place)
      var batch = Batch<Plain>()
      batch.writes[name] = Write(try Reentrancy.inside { () throws(StoreError) in try body(old) })
      try apply(batch, suite)
    }
  }

  /// All of `batch`, or nothing.
  ///
  /// - Throws: `.unsupported` for a batch that decides or that waits for a decision; `.conflict`; `.unencodable`.
  public func commit(_ batch: Batch<Plain>, decision: Decision?) throws(StoreError) {
    guard decision == nil, batch.decides == nil else {
      try Reentrancy.check(place)
      throw StoreError(
        .unsupported, "Foundation's UserDefaults takes no part in a transaction over two stores", place: place,
        cure: "keep what must change together with a secret in a DefaultsStore")
    }
    for name in batch.writes.keys { try StoredName.check(name) }
    try entering { (suite) throws(StoreError) in
      for (name, expected) in batch.expectations where try suite.form(name, place) != expected {
        throw StoreError(.conflict, "changed since it was read", key: name, place: place, cure: "read it again and retry")
      }
      try apply(batch, suite)
    }
  }

  private func entering<Result>(_ body: (Suite) throws(StoreError) -> Result) throws(StoreError) -> Result {
    try Reentrancy.check(place)
    return try Self.turn.withLock { (_) throws(StoreError) in try body(suite) }
  }

  private func apply(_ batch: Batch<Plain>, _ suite: Suite) throws(StoreError) {
    for (name, write) in batch.writes { if let form = write.form { try FoundationForm.check(form, name, place) } }
    var told: [Change] = []
    for (name, write) in batch.writes where try suite.form(name, place) != write.form {
      if let form = write.form {
        suite.defaults.set(FoundationForm.object(of: form), forKey: name)
      } else {
        suite.defaults.removeObject(forKey: name)
      }
      told.append(Change(name, batch.cause(of: write), by: .thisProcess))
    }
    if !told.isEmpty { changes.send(.changes(told)) }
  }
}
