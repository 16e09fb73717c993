public import CofferDefaults
public import CofferPlatform
public import CofferStorage
public import SystemPackage

/// A suite of preferences behind two methods, with a prefix for its names, so that several instances on one suite do not collide.
public final class PersistentStorage: KeyValueStorage {
  /// Serves the plain route.
  public typealias R = Plain
  private let defaults: DefaultsStore

  /// The suite's name.
  public var suiteName: String { defaults.domain.name }
  /// What this instance's names begin with in the suite.
  public var keyPrefix: String { defaults.prefix }
  /// The suite, seen through the prefix.
  public var store: any Store<Plain> { defaults }

  /// Opens `suiteName`, or the domain that `UserDefaults.standard` uses, which is named like the executable.
  ///
  /// - Parameters:
  ///   - suiteName: the suite's name, one path component.
  ///   - keyPrefix: what this instance's names begin with in the suite.
  ///   - folder: where the suite's property list is, instead of the user's configuration folder.
  /// - Throws: what `DefaultsStore.open` throws: why the suite cannot be opened.
  public init(suiteName: String? = nil, keyPrefix: String = "", in folder: FilePath? = nil) throws(StoreError) {
    defaults = try DefaultsStore.open(domain: suiteName ?? DefaultsDomain.standardName, in: folder, prefix: keyPrefix)
  }

  /// Removes every value of this instance: those whose names have its prefix.
  public func clear() throws(StoreError) { try defaults.removeAll() }

  /// Writes what was set into the property list and to the disk. It happens within a second by itself.
  public func synchronize() throws(StoreError) { try defaults.synchronize() }
}

extension DefaultsDomain {
  /// The name of the domain that Foundation's `UserDefaults.standard` uses on Linux: the executable's.
  public static var standardName: String {
    let program = CommandLine.arguments.first ?? ""
    return program.split(separator: "/").last.map(String.init) ?? "coffer"
  }
}
