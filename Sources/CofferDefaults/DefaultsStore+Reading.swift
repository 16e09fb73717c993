public import CofferStorage
internal import SystemPackage

// Reads go through the layers, strongest first.
extension DefaultsStore {
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
}
