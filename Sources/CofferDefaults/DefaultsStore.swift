public import CofferPlatform
public import CofferStorage
internal import Synchronization
public import SystemPackage

/// The plain store: preferences in the property list where Foundation's `UserDefaults` keeps them, without its losses.
///
/// A write is acknowledged when it returns. From then on it survives the death of the process, other processes see it at
/// their next read, and it has overwritten no other writer's change. ``synchronize()`` and ``close()`` write it to the
/// property list and the disk; a living process does so within a second.
///
/// Reads answer from the strongest layer with a value: launch arguments, environment, the domain, suites in their order,
/// registered values. Writes go only to the domain. ``update(_:_:)`` begins with the value of a read without overrides.
public final class DefaultsStore: LayeredStore {
  /// Serves the plain route.
  public typealias R = Plain

  /// The written domain.
  public let domain: DefaultsDomain
  /// The prefix of this instance's names in the files, the arguments and the environment.
  public let prefix: String
  /// The prefix: the store has no other names.
  public var part: String { prefix }
  /// The property list's path; a symbolic link is resolved.
  public var place: String { engine.files.list.string }

  let engine: DefaultsEngine
  let suites: [(domain: DefaultsDomain, lease: EngineLease)]
  let suiteEngines: [DefaultsEngine]
  let arguments: LaunchArguments
  let environment: EnvironmentLayer?
  let registered: [String: PlainForm]
  /// Reports changes of the stored values by this process, another process, or a program that does not use Coffer: see
  /// ``Change/Origin``.
  ///
  /// Of several changes to one name before a delivery, only the last is reported, and none if the value is back to what it
  /// was. A change beneath an override, or in a suite beneath a stronger layer, is reported as ``Change/Cause/overridden``.
  /// The feed ends with ``close()`` or the store's life, after it has reported all writes of this process.
  ///
  /// Changes by other Coffer processes arrive within about a millisecond, or within a second, with the next fold, if this
  /// process may not write the domain's folder. Other programs' changes arrive when they close the file.
  public let changes: ChangeFeed
  private let lease: EngineLease
  let isClosed = Atomic<Bool>(false)
  let isSingleLayer: Bool

  init(_ domain: DefaultsDomain, suites: [DefaultsDomain], layers: DefaultsLayers, options: EngineOptions) throws(StoreError) {
    self.domain = domain
    prefix = layers.prefix
    // One wait for all of them.
    let deadline = LockDeadline.ofCall(FileLock.patience)
    lease = try EngineLease(domain.file, options, until: deadline)
    engine = lease.engine
    var opened: [(DefaultsDomain, EngineLease)] = []
    for suite in suites { opened.append((suite, try EngineLease(suite.file, options, until: deadline))) }
    self.suites = opened
    suiteEngines = opened.map { $0.1.engine }
    arguments = LaunchArguments(layers.arguments)
    environment = layers.environment
    registered = layers.registered
    let layered = LayeredChanges(
      prefix: layers.prefix, arguments: arguments, environment: environment, engines: [engine] + opened.map(\.1.engine))
    changes = ChangeFeed { (feed) throws(StoreError) in try layered.start(feed) }
    isSingleLayer =
      opened.isEmpty && arguments.isEmpty && registered.isEmpty && prefix.isEmpty && layers.environment?.isEmpty ?? true
  }

  deinit { engine.observation.afterTelling(engine) { [changes] in changes.end() } }

  /// Opens a domain, with the layers above and beneath it.
  ///
  /// The property list and its folder are made when first needed. If neither may be written, the store reads, and writes
  /// throw ``/CofferPlatform/StoreError/Kind/readOnly``.
  ///
  /// - Parameter name: the domain's name; see ``DefaultsDomain``.
  /// - Parameter folder: the folder of all lists; the user's configuration folder by default.
  /// - Parameter suites: further domains, asked in this order for values that the domain lacks.
  /// - Parameter registered: this instance's values for names without any other.
  /// - Parameter arguments: the command line, without the program's name: `-key value` overrides a key.
  /// - Parameter environment: environment variables that override keys.
  /// - Parameter prefix: the prefix of this instance's names in files, arguments and environment.
  /// - Parameter access: reading and writing, or only reading, which leaves no trace.
  /// - Parameter damage: the policy for an existing list that cannot be read.
  /// - Throws: `StoreError` `.invalidName`, `.damaged`, `.denied`, `.busy`, `.newerFormat`, `.noSpace`, `.io`.
  public static func open(
    domain name: String, in folder: FilePath? = nil, suites: [String] = [], registered: [String: PlainForm] = [:],
    arguments: [String] = [], environment: EnvironmentLayer? = nil, prefix: String = "", access: DefaultsAccess = .readWrite,
    damage: DamagePolicy = .fail
  ) throws(StoreError) -> DefaultsStore {
    try open(
      domain: name, in: folder, suites: suites, layers: DefaultsLayers(arguments, environment, registered, prefix),
      options: EngineOptions(access: access, damage: damage))
  }

  package static func open(
    domain name: String, in folder: FilePath?, suites: [String] = [], layers: DefaultsLayers = DefaultsLayers(),
    options: EngineOptions
  ) throws(StoreError) -> DefaultsStore {
    let domain = try DefaultsDomain(name, in: folder)
    var others: [DefaultsDomain] = []
    for suite in suites { others.append(try DefaultsDomain(suite, in: folder)) }
    for (key, form) in layers.registered { try StorableForm.check(form, for: key) }
    return try DefaultsStore(domain, suites: others, layers: layers, options: options)
  }

  /// Prevents the SIGBUS handler that mapped journals need. Journals opened later are read and written with system calls, one
  /// for each `get`. The handler serves only these mappings, and passes every other SIGBUS to the previous handler.
  public static func refuseSignalHandler() { JournalMemory.mayMap.store(false, ordering: .relaxed) }

  @inline(__always)
  func check() throws(StoreError) {
    try Reentrancy.check(place)
    guard isClosed.load(ordering: .relaxed) else { return }
    throw StoreError(.closed, "the store was closed", place: place, cure: "open the domain again")
  }

  /// Scrubbing affects the files, which all prefixes share.
  @inline(__always)
  func full(_ name: String) -> String { prefix.isEmpty || name == ReservedName.scrubPending ? name : prefix + name }

  @inline(__always)
  func checked(_ name: String) throws(StoreError) -> String {
    let full = full(name)
    try StorableForm.check(name: full)
    return full
  }
}
