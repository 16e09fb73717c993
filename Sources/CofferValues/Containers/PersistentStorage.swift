internal import CofferDefaults
public import CofferPlatform
public import CofferStorage
public import SystemPackage

/// A suite of preferences behind two methods. A prefix keeps the names of several instances on one suite apart.
public final class PersistentStorage: KeyValueStorage {
  /// Serves the plain route.
  public typealias R = Plain
  /// The domain of `UserDefaults.standard`, opened at its first use: see ``/CofferDefaults/DefaultsStore/standard``.
  public static let standard = PersistentStorage(.standard)

  private enum Suite: Sendable {
    case opened(DefaultsStore)
    case standard
  }
  private let suite: Suite

  /// The suite's name.
  public let suiteName: String
  /// The prefix of this instance's names in the suite.
  public let keyPrefix: String
  /// The suite, seen through the prefix.
  public let store: any Store<Plain>

  private init(_: Suite) {
    suite = .standard
    suiteName = DefaultsDomain.standardName
    keyPrefix = ""
    store = DefaultsStore.standard
  }

  /// Opens `suiteName`, or the domain of `UserDefaults.standard`, which is named after the executable.
  ///
  /// - Parameters:
  ///   - suiteName: the suite's name, one path component.
  ///   - keyPrefix: the prefix of this instance's names in the suite.
  ///   - folder: the folder of the suite's property list; the user's configuration folder by default.
  /// - Throws: the errors of `DefaultsStore.open`.
  public init(suiteName: String? = nil, keyPrefix: String = "", in folder: FilePath? = nil) throws(StoreError) {
    let name = suiteName ?? DefaultsDomain.standardName
    let defaults = try DefaultsStore.open(domain: name, in: folder, prefix: keyPrefix)
    (suite, self.suiteName, self.keyPrefix, store) = (.opened(defaults), name, keyPrefix, defaults)
  }

  private var defaults: DefaultsStore {
    get throws(StoreError) {
      switch suite {
      case .opened(let store): store
      case .standard: try DefaultsStore.standard.store()
      }
    }
  }

  /// Removes every value whose name has this instance's prefix.
  public func clear() throws(StoreError) { try defaults.removeAll() }

  /// Writes all values to the property list and the disk. This also happens automatically within a second.
  public func synchronize() throws(StoreError) { try defaults.synchronize() }
}

extension PersistentStorage {
  /// The asynchronous form of ``synchronize()``.
  nonisolated(nonsending) public func synchronize() async throws(StoreError) {
    try await CallQueues.call(within: nil) { () throws(StoreError) in try self.synchronize() }
  }
}
