public import CofferPlatform
public import CofferStorage

extension DefaultsStore {
  /// The value of `name` in the strongest layer that has one; nil if none has.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.damaged` when the list became unreadable, `.undecodable` for `-name` without a
  ///   value on the command line, `.pending`, `.closed`, `.reentrant`.
  public func load(_ name: String) throws(StoreError) -> PlainForm? {
    try check()
    if isSingleLayer { return try engine.load(name) }
    let full = full(name)
    if let override = try override(of: full) { return override }
    if let form = try engine.load(full) { return form }
    return try beneath(name, full)
  }

  /// Several values from one moment of the domain. The stamps are those of the domain's own values.
  public func load(_ names: [String]) throws(StoreError) -> [Reading<Plain>] {
    try check()
    let stored = try engine.load(names.map(full))
    var readings: [Reading<Plain>] = []
    for (name, form) in zip(names, stored) {
      let full = full(name)
      let base = if let form { form } else { try beneath(name, full) }
      let override = try override(of: full)
      let source = override.flatMap { _ in unstoredSource(of: name) }
      readings.append(Reading(form: override ?? base, base: base, stamp: form, source: source))
    }
    return readings
  }

  /// The names with a value in some layer, ascending, without environment variables: see ``EnvironmentLayer``.
  public func names() throws(StoreError) -> [String] {
    try check()
    var names = Set(registered.keys)
    for stored in try [engine.names()] + suiteNames() + [Array(arguments.texts.keys)] {
      names.formUnion(stored.compactMap { $0.rest(after: prefix) }.filter { !$0.isEmpty })
    }
    names.remove(ReservedName.scrubPending)
    return names.sorted()
  }

  /// The layers: overrides, the domain, its suites, the registered values.
  public var layers: LayerLookup {
    LayerLookup(explain: explain, unstoredSource: unstoredSource, unstoredNames: { self.unstoredNames })
  }

  /// The layer that answers a read of `name`, the layers that it hides, and the place of each value.
  public func explain(_ name: String) throws(StoreError) -> Explanation {
    try check()
    var sources: [Explanation.Source] = []
    let full = full(name)
    try arguments.check(full)
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

  /// The place, for messages, of the override or registered value of `name`.
  func unstoredSource(of name: String) -> String? {
    let full = full(name)
    if arguments[full] != nil { return "the command line" }
    if let environment, environment.value(for: full) != nil {
      return "the environment variable \(environment.variable(for: full))"
    }
    return registered[name] == nil ? nil : "a registered value"
  }

  /// The names with a value on the command line or a registered one.
  var unstoredNames: [String] {
    arguments.names.compactMap { $0.rest(after: prefix) } + registered.keys
  }

  private func override(of full: String) throws(StoreError) -> PlainForm? {
    try arguments.check(full)
    return (arguments[full] ?? environment?.value(for: full)).map(PlainForm.argument)
  }

  func beneath(_ name: String, _ full: String) throws(StoreError) -> PlainForm? {
    for engine in suiteEngines { if let form = try engine.load(full) { return form } }
    return registered[name]
  }

  private func suiteNames() throws(StoreError) -> [[String]] {
    var names: [[String]] = []
    for suite in suites { names.append(try suite.lease.engine.names()) }
    return names
  }
}
