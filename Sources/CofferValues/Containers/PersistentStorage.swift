internal import CofferDefaults
public import CofferPlatform
public import CofferStorage
public import SystemPackage

/// A suite of preferences behind two methods, with a prefix for its names, so that several instances on one suite do not collide.
public final class PersistentStorage: KeyValueStorage {
  /// Serves the plain route.
  public typealias R = Plain
  /// The domain that `UserDefaults.standard` uses, opened with its first use: see ``/CofferDefaults/DefaultsStore/standard``.
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

  /// Opens `suiteName`, or the domain that `UserDefaults.standard` uses, which is named like the executable.
  ///
  /// - Parameters:
  ///   - suiteName: the suite's name, one path component.
  ///   - keyPrefix: the prefix of this instance's names in the suite.
  ///   - folder: the folder of the suite's property list, instead of the user's configuration folder.
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

  /// Removes every value of this instance: those whose names have its prefix.
  public func clear() throws(StoreError) { try defaults.removeAll() }

  /// Writes all values into the property list and to the disk. It happens within a second by itself.
  public func synchronize() throws(StoreError) { try defaults.synchronize() }
}
