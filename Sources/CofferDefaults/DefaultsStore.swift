public import CofferStorage
internal import Synchronization
public import SystemPackage

/// The plain store: preferences in the property list where Foundation's `UserDefaults` keeps them, without what that loses.
///
/// A write is acknowledged when it returns: the death of the process loses nothing, other processes see it with their next
/// read, and no other writer's change is overwritten. It reaches the property list, and the disk for good, with
/// ``synchronize()`` or ``close()``, and within a second by itself while the process lives.
///
/// Reads answer from the strongest layer that has a value: launch arguments, environment, the domain, suites in their order,
/// registered values. Writes and ``update(_:_:)`` work on the domain alone and never see an override.
public final class DefaultsStore: Store {
  /// Serves the plain route.
  public typealias R = Plain

  /// The domain that is written.
  public let domain: DefaultsDomain
  /// What names of this instance begin with in the files, the arguments and the environment.
  public let prefix: String
  /// The property list's path; a symbolic link is resolved.
  public var place: String { engine.files.list.string }

  let engine: DefaultsEngine
  let suites: [(domain: DefaultsDomain, lease: EngineLease)]
  let arguments: [String: String]
  let environment: EnvironmentLayer?
  let registered: [String: PlainForm]
  private let lease: EngineLease
  private let isClosed = Atomic<Bool>(false)
  /// True when only the domain can have a value: most reads then ask nothing else.
  private let isSingleLayer: Bool

  init(_ domain: DefaultsDomain, suites: [DefaultsDomain], layers: DefaultsLayers, options: EngineOptions) throws(StoreError) {
    self.domain = domain
    prefix = layers.prefix
    lease = try EngineLease(domain.file, options)
    engine = lease.engine
    var opened: [(DefaultsDomain, EngineLease)] = []
    for suite in suites { opened.append((suite, try EngineLease(suite.file, options))) }
    self.suites = opened
    arguments = LaunchArguments.overrides(in: layers.arguments)
    environment = layers.environment
    registered = layers.registered
    isSingleLayer =
      opened.isEmpty && arguments.isEmpty && registered.isEmpty && prefix.isEmpty && layers.environment?.isEmpty ?? true
  }

  /// Opens a domain, with the layers above and beneath it.
  ///
  /// The property list and its folder are made when first needed; a folder that is there is left as it is. Where neither may
  /// be written the store reads, and writes throw ``StoreError/Kind/readOnly``.
  ///
  /// - Parameters:
  ///   - name: the domain's name; see ``DefaultsDomain``.
  ///   - folder: where the lists of the domain and its suites are, instead of the user's configuration folder.
  ///   - suites: further domains, asked in this order for what the domain does not have.
  ///   - registered: values of this instance for what nothing else has.
  ///   - arguments: the command line, without the program's name: `-key value` overrides a key.
  ///   - environment: environment variables that override keys.
  ///   - prefix: what this instance's names begin with in files, arguments and environment; ``names()`` shows the rest.
  ///   - damage: what happens to a list that is there and cannot be read.
  ///   - decisions: how to complete a transaction whose process died.
  /// - Throws: ``StoreError`` `.invalidName`, `.damaged`, `.denied`, `.busy`, `.newerFormat`, `.noSpace`, `.io`.
  public static func open(
    domain name: String, in folder: FilePath? = nil, suites: [String] = [], registered: [String: PlainForm] = [:],
    arguments: [String] = [], environment: EnvironmentLayer? = nil, prefix: String = "", damage: DamagePolicy = .fail,
    decisions: DecisionLookup? = nil
  ) throws(StoreError) -> DefaultsStore {
    try open(
      domain: name, in: folder, suites: suites, layers: DefaultsLayers(arguments, environment, registered, prefix),
      options: EngineOptions(damage: damage, decisions: decisions))
  }

  /// The same with more say over the engine.
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

  // MARK: Reading

  /// The value of `name` in the strongest layer that has one; nil when none has.
  ///
  /// - Throws: ``StoreError`` `.damaged` when the list became unreadable, `.pending`, `.closed`, `.reentrant`.
  public func load(_ name: String) throws(StoreError) -> PlainForm? {
    try check()
    if isSingleLayer { return try engine.load(name) }
    if let override = override(of: name) { return override.form }
    if let form = try engine.load(prefix + name) { return form }
    return try beneath(name)
  }

  /// Several values from one moment of the domain. The stamps are the domain's own values, without overrides.
  public func load(_ names: [String]) throws(StoreError) -> [Reading<Plain>] {
    try check()
    let stored = try engine.load(names.map { prefix + $0 })
    var readings: [Reading<Plain>] = []
    for (name, form) in zip(names, stored) {
      var value = override(of: name)?.form ?? form
      if value == nil { value = try beneath(name) }
      readings.append(Reading(form: value, stamp: form))
    }
    return readings
  }

  /// Whether any layer has a value for `name`.
  public func contains(_ name: String) throws(StoreError) -> Bool { try load(name) != nil }

  /// All names that a layer has a value for, ascending. Environment variables do not tell names: see ``EnvironmentLayer``.
  public func names() throws(StoreError) -> [String] {
    try check()
    var names = Set(registered.keys)
    for stored in try [engine.names()] + suiteNames() + [Array(arguments.keys)] {
      for name in stored where name.hasPrefix(prefix) && name.utf8.count > prefix.utf8.count {
        names.insert(String(name.dropFirst(prefix.count)))
      }
    }
    return names.sorted()
  }

  /// Which layer a read of `name` answers from, what it hides, and where each value stands.
  public func explain(_ name: String) throws(StoreError) -> Explanation {
    try check()
    var sources: [Explanation.Source] = []
    let full = prefix + name
    if let text = arguments[full] {
      sources.append(.init(layer: .argument, place: "command line", form: .argument(text)))
    }
    if let environment, let text = environment.value(for: full) {
      sources.append(.init(layer: .environment, place: environment.variable(for: full), form: .argument(text)))
    }
    if let form = try engine.load(full) { sources.append(.init(layer: .domain, place: place, form: form)) }
    for suite in suites {
      guard let form = try suite.lease.engine.load(full) else { continue }
      sources.append(.init(layer: .suite, place: suite.lease.engine.files.list.string, form: form))
    }
    if let form = registered[name] { sources.append(.init(layer: .registered, place: "registered", form: form)) }
    return Explanation(key: name, sources: sources)
  }

  private func override(of name: String) -> (layer: Explanation.Layer, form: PlainForm)? {
    guard !arguments.isEmpty || environment != nil else { return nil }
    if let text = arguments[prefix + name] { return (.argument, .argument(text)) }
    return environment?.value(for: prefix + name).map { (.environment, .argument($0)) }
  }

  private func beneath(_ name: String) throws(StoreError) -> PlainForm? {
    for suite in suites { if let form = try suite.lease.engine.load(prefix + name) { return form } }
    return registered[name]
  }

  private func suiteNames() throws(StoreError) -> [[String]] {
    var names: [[String]] = []
    for suite in suites { names.append(try suite.lease.engine.names()) }
    return names
  }

  // MARK: Writing

  /// Replaces the value of `name` in the domain; nil removes it. Nothing is written where it is equal.
  ///
  /// - Throws: ``StoreError`` `.invalidName`, `.unencodable` (text that XML forbids), `.tooLarge`, `.readOnly`, `.busy`,
  ///   `.noSpace`, `.pending`, `.closed`; nothing has changed then.
  public func save(_ form: PlainForm?, for name: String) throws(StoreError) {
    try check()
    let full = try checked(name)
    try engine.save(form, for: full)
  }

  /// Replaces the domain's value of `name` by what `body` makes of it, atomically across processes. Overrides, suites and
  /// registered values are not looked at.
  ///
  /// - Throws: what ``save(_:for:)`` throws, or `body`; nothing has changed then.
  public func update(
    _ name: String, _ body: (PlainForm?) throws(StoreError) -> PlainForm?
  ) throws(StoreError) {
    try check()
    try engine.update(checked(name), body)
  }

  /// Applies all of `batch` to the domain, or nothing. Expectations are compared with the domain's own values.
  ///
  /// - Throws: what ``save(_:for:)`` throws; `.conflict`; `.refused` for a batch that decides a transaction, which the plain
  ///   store does not; `.pending` when `decision` was made and only its completion here failed.
  public func commit(_ batch: Batch<Plain>, decision: Decision?) throws(StoreError) {
    try check()
    guard batch.decides == nil else {
      throw StoreError(
        .refused, "the plain store does not decide transactions", place: place, cure: "let the vault decide, and pass a decision")
    }
    var changes: [Record.Change] = []
    for (name, write) in batch.writes { changes.append((try checked(name), write.form)) }
    var expectations: [String: PlainForm?] = [:]
    for (name, stamp) in batch.expectations { expectations[prefix + name] = .some(stamp) }
    if let decision {
      try engine.commit(changes, if: expectations, decision: decision)
    } else {
      try engine.commit(changes, if: expectations)
    }
  }

  /// Does nothing: the plain store keeps no record of decided transactions.
  public func forget(_ transaction: TransactionID) throws(StoreError) {}

  /// Removes every value of the domain whose name in the file begins with this instance's ``prefix``, in one step.
  public func removeAll() throws(StoreError) {
    try check()
    try engine.removeAll(prefix: prefix)
  }

  /// Removes every value of the domain whose name begins with ``prefix`` and then `beginning`, in one step.
  public func removeAll(beginningWith beginning: String) throws(StoreError) {
    try check()
    try engine.removeAll(prefix: prefix + beginning)
  }

  // MARK: The files

  /// Writes everything that was acknowledged, by any process, into the property list and to the disk. Foundation and editors
  /// see it from then on, and a power loss loses none of it.
  ///
  /// - Throws: ``StoreError`` `.noSpace`, `.readOnly`, `.busy`, `.damaged`, `.io`. Acknowledged values are safe all the same.
  public func synchronize() throws(StoreError) {
    try check()
    if engine.isWritable { try engine.synchronize() }
  }

  /// Like ``synchronize()``, and leaves no trace of removed or replaced values in the journal and in the last good copy: for
  /// a value that should never have been stored in the clear. What the disk keeps of replaced files is out of reach.
  public func scrub() throws(StoreError) {
    try check()
    try engine.synchronize(scrubbing: true)
  }

  /// Writes what is acknowledged into the property list and ends the store's use: later calls throw
  /// ``StoreError/Kind/closed``. Closing twice does nothing. Other stores of the same domain go on.
  ///
  /// - Throws: what ``synchronize()`` throws; the store is closed all the same, and the values are safe in the journal.
  public func close() throws(StoreError) {
    try Reentrancy.check(place)
    guard !isClosed.exchange(true, ordering: .relaxed) else { return }
    if engine.isWritable { try engine.synchronize() }
  }

  @inline(__always)
  private func check() throws(StoreError) {
    try Reentrancy.check(place)
    guard isClosed.load(ordering: .relaxed) else { return }
    throw StoreError(.closed, "the store was closed", place: place, cure: "open the domain again")
  }

  @inline(__always)
  private func checked(_ name: String) throws(StoreError) -> String {
    let full = prefix.isEmpty ? name : prefix + name
    try StorableForm.check(name: full)
    return full
  }
}
