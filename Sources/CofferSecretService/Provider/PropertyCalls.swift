/// Answers org.freedesktop.DBus.Properties and Introspectable.
final class PropertyCalls {
  private unowned let service: ServiceLoop

  init(_ service: ServiceLoop) { self.service = service }

  func answer(_ message: BusMessage, _ object: ObjectPath, _ method: String) throws(Refusal) {
    let named = try message.string()
    guard let interface = object.interface, named.isEmpty || named == interface.name else {
      // A standard interface has no properties.
      if method == "GetAll", object.interfaces.contains(where: { $0.name == named }) {
        return try replyProperties(message) { _ in }
      }
      throw .unknownInterface(named)
    }
    guard method != "GetAll" else { return try getAll(message, object) }
    let name = try message.string()
    guard let property = interface.properties.first(where: { $0.name == name }) else { throw .unknownProperty(name) }
    if method == "Get" { return try get(message, object, property) }
    guard property.isWritable else { throw .readOnly(name) }
    try set(message, object, property)
  }

  private func replyProperties(_ message: BusMessage, _ put: (BusMessage) throws(Refusal) -> Void) throws(Refusal) {
    try service.reply(message) { (answer) throws(Refusal) in try answer.putArray("{sv}") { () throws(Refusal) in try put(answer) }
    }
  }

  private func known(_ object: ObjectPath) -> CollectionState? {
    switch object {
    case .collection(let name): service.book[name]
    case .alias(let alias): service.book.collection(behind: alias).flatMap { service.book[$0] }
    default: nil
    }
  }

  /// Whether an alias may lead elsewhere than known, and the vault can tell.
  private func canLeadElsewhere(_ object: ObjectPath) -> Bool {
    guard case .alias(let alias) = object else { return false }
    return alias != CollectionState.session && !service.book.isRead && !service.isLocked
  }

  /// Runs `body` with the collection of a path. Known ones are answered while the vault is locked, without a prompt; others
  /// cannot be known then.
  private func withState(
    _ message: BusMessage, _ object: ObjectPath, _ body: @escaping (CollectionState) throws(Refusal) -> Void
  ) throws(Refusal) {
    let isUncertain = canLeadElsewhere(object)
    if !isUncertain, let state = known(object) { return try body(state) }
    try service.ask(message, waits: service.settings.hasOwnKey) { (vault) throws(Refusal) in
      try vault.book()
    } _: { [self] (book) throws(Refusal) in
      service.note(book)
      guard let state = known(object) else { throw .noSuchObject(message.path) }
      try body(state)
    } otherwise: { [self] (refusal) throws(Refusal) in
      // Locked meanwhile, and answered as such.
      guard refusal.isForUnlocking, let state = known(object) else { throw refusal }
      try body(state)
    }
  }

  /// The name of a path's collection, read from the open vault: an alias may lead elsewhere after the call's wait.
  private static func name(
    of object: ObjectPath, _ known: CollectionState, _ vault: SecretVault
  ) throws(Refusal) -> String {
    guard case .alias(let alias) = object, known.name != CollectionState.session else { return known.name }
    return try vault.collection(behind: alias)
  }

  private func isLocked(_ name: String) -> Bool { name != CollectionState.session && service.isLocked }

  private func get(_ message: BusMessage, _ object: ObjectPath, _ property: Interface.Property) throws(Refusal) {
    switch (object, property.name) {
    case (.service, _):
      try service.knowingBook(message) { [self] () throws(Refusal) in
        try replyVariant(message, property) { (answer) throws(Refusal) in
          try answer.put(paths: service.book.collections.map(\.path))
        }
      }
    case (.portal, _): try replyVariant(message, property) { (answer) throws(Refusal) in try answer.put(UInt32(1)) }
    case (.item(let path), "Locked"):
      // In an open vault the item must exist.
      guard !isLocked(path.collection) else {
        return try replyVariant(message, property) { (answer) throws(Refusal) in try answer.put(true) }
      }
      try getItem(message, path, property)
    case (.item(let path), _): try getItem(message, path, property)
    case (_, "Items"):
      try withState(message, object) { [self] (state) throws(Refusal) in
        try service.ask(message) { (vault) throws(Refusal) in
          try vault.find([:], in: PropertyCalls.name(of: object, state, vault)).map(\.path.text)
        } _: { [self] (paths) throws(Refusal) in
          try replyVariant(message, property) { (answer) throws(Refusal) in try answer.put(paths: paths) }
        }
      }
    default:
      try withState(message, object) { [self] (state) throws(Refusal) in
        try service.reply(message) { (answer) throws(Refusal) in
          try answer.putValue(property.name, of: state, isLocked: isLocked(state.name))
        }
      }
    }
  }

  private func getItem(_ message: BusMessage, _ path: ItemPath, _ property: Interface.Property) throws(Refusal) {
    try service.ask(message, isQuick: true) { (vault) throws(Refusal) in
      try vault.item(path)
    } _: { [self] (item) throws(Refusal) in
      try service.reply(message) { (answer) throws(Refusal) in try answer.putValue(property.name, of: item, isLocked: false) }
    }
  }

  private func replyVariant(
    _ message: BusMessage, _ property: Interface.Property, _ put: (BusMessage) throws(Refusal) -> Void
  ) throws(Refusal) {
    try service.reply(message) { (answer) throws(Refusal) in
      try answer.putVariant(property.type) { () throws(Refusal) in try put(answer) }
    }
  }

  private func getAll(_ message: BusMessage, _ object: ObjectPath) throws(Refusal) {
    switch object {
    case .service:
      // libsecret fills its cache with this first; later changes are signaled.
      try service.knowingBook(message, isNeeded: false) { [self] () throws(Refusal) in
        try replyProperties(message) { [book = service.book] (answer) throws(Refusal) in
          try answer.putProperty("Collections", "ao") { () throws(Refusal) in try answer.put(paths: book.collections.map(\.path))
          }
        }
      }
    case .portal:
      try replyProperties(message) { (answer) throws(Refusal) in
        try answer.putProperty("version", "u") { () throws(Refusal) in try answer.put(UInt32(1)) }
      }
    case .item(let path):
      try service.ask(message, isQuick: true) { (vault) throws(Refusal) in
        try vault.item(path)
      } _: { [self] (item) throws(Refusal) in
        try replyProperties(message) { (answer) throws(Refusal) in try answer.putProperties(of: item, isLocked: false) }
      }
    default:
      try withState(message, object) { [self] (state) throws(Refusal) in try getAll(message, state) }
    }
  }

  private func getAll(_ message: BusMessage, _ state: CollectionState) throws(Refusal) {
    // A locked collection's items are unknown: the property is absent, never empty.
    guard !isLocked(state.name) else { return try replyAll(message, state, items: nil) }
    try service.ask(message, waits: service.settings.hasOwnKey) { (vault) throws(Refusal) in
      try vault.find([:], in: state.name).map(\.path.text)
    } _: { [self] (items) throws(Refusal) in
      try replyAll(message, state, items: items)
    } otherwise: { [self] (refusal) throws(Refusal) in
      guard refusal.isForUnlocking else { throw refusal }
      try replyAll(message, state, items: nil)
    }
  }

  private func replyAll(_ message: BusMessage, _ state: CollectionState, items: [String]?) throws(Refusal) {
    try replyProperties(message) { (answer) throws(Refusal) in
      if let items { try answer.putProperty("Items", "ao") { () throws(Refusal) in try answer.put(paths: items) } }
      for name in ["Label", "Locked", "Created", "Modified"] {
        try answer.putEntry("sv") { () throws(Refusal) in
          try answer.put(name)
          try answer.putValue(name, of: state, isLocked: isLocked(state.name))
        }
      }
    }
  }

  private func set(_ message: BusMessage, _ object: ObjectPath, _ property: Interface.Property) throws(Refusal) {
    switch object {
    case .item(let path):
      let label = try property.name == "Label" ? message.text(in: property.name) : nil
      let attributes = try property.name == "Attributes" ? message.attributes(in: property.name) : nil
      let author = service.author(of: message)
      try service.ask(message) { (vault) throws(Refusal) in
        try vault.describe(path, label: label, attributes: attributes, by: author)
      } _: { [self] (event) throws(Refusal) in
        service.announcer.tell(event)
        try service.reply(message) { (_) throws(Refusal) in }
      }
    default:
      let label = try message.text(in: property.name)
      let author = service.author(of: message)
      try withState(message, object) { [self] (state) throws(Refusal) in
        guard state.name != CollectionState.session else { throw .readOnly(property.name) }
        try service.ask(message) { (vault) throws(Refusal) in
          try vault.label(PropertyCalls.name(of: object, state, vault), label, by: author)
          return try vault.book()
        } _: { [self] (book) throws(Refusal) in
          service.note(book)
          try service.reply(message) { (_) throws(Refusal) in }
        }
      }
    }
  }

  // MARK: Introspection

  func introspect(_ message: BusMessage, _ object: ObjectPath) throws(Refusal) {
    switch object {
    case .collection(let name) where !isLocked(name):
      try service.ask(message, waits: false) { (vault) throws(Refusal) -> [String] in
        try vault.find([:], in: name).map(\.path.element)
      } _: { [self] (items) throws(Refusal) in
        try replyDescription(message, object, items)
      } otherwise: { [self] (refusal) throws(Refusal) in
        // Locked meanwhile: the items are unknown.
        guard refusal.isForUnlocking else { throw refusal }
        try replyDescription(message, object, [])
      }
    default: try replyDescription(message, object, children(of: object, message.sender))
    }
  }

  private func replyDescription(_ message: BusMessage, _ object: ObjectPath, _ children: [String]) throws(Refusal) {
    try service.reply(message) { (answer) throws(Refusal) in
      try answer.put(Interface.describe(object.interfaces, children: children))
    }
  }

  private func children(of object: ObjectPath, _ client: String) -> [String] {
    switch object {
    case .service: return ["aliases", "collection", "prompt", "session"]
    case .folder("/"): return ["org"]
    case .folder("/org"): return ["freedesktop"]
    case .folder("/org/freedesktop"): return ["portal", "secrets"]
    case .folder("/org/freedesktop/portal"): return ["desktop"]
    case .folder(ObjectPath.root + "/collection"): return service.book.collections.map { PathElement.encode($0.name) }
    case .folder(ObjectPath.root + "/aliases"): return service.book.aliasElements
    case .folder(ObjectPath.root + "/session"):
      return service.sessions.names(of: client)
    case .folder(ObjectPath.root + "/prompt"): return service.prompts.names(of: client)
    default: return []
    }
  }
}

extension BusMessage {
  func putProperty(_ name: String, _ type: String, _ put: () throws(Refusal) -> Void) throws(Refusal) {
    try putEntry("sv") { () throws(Refusal) in
      try self.put(name)
      try putVariant(type, put)
    }
  }

  func putProperties(of item: StoredItem, isLocked: Bool) throws(Refusal) {
    for property in Interface.item.properties {
      try putEntry("sv") { () throws(Refusal) in
        try put(property.name)
        try putValue(property.name, of: item, isLocked: isLocked)
      }
    }
  }

  fileprivate func putValue(_ name: String, of item: StoredItem, isLocked: Bool) throws(Refusal) {
    switch name {
    case "Locked": try putVariant("b") { () throws(Refusal) in try put(isLocked) }
    case "Attributes": try putVariant("a{ss}") { () throws(Refusal) in try put(attributes: item.attributes) }
    case "Label": try putVariant("s") { () throws(Refusal) in try put(item.label) }
    case "Created": try putVariant("t") { () throws(Refusal) in try put(seconds: item.created.seconds) }
    case "Modified": try putVariant("t") { () throws(Refusal) in try put(seconds: item.modified.seconds) }
    default: throw .unknownProperty(name)
    }
  }

  fileprivate func putValue(_ name: String, of collection: CollectionState, isLocked: Bool) throws(Refusal) {
    switch name {
    case "Locked": try putVariant("b") { () throws(Refusal) in try put(isLocked) }
    case "Label": try putVariant("s") { () throws(Refusal) in try put(collection.label) }
    case "Created": try putVariant("t") { () throws(Refusal) in try put(seconds: collection.created) }
    case "Modified": try putVariant("t") { () throws(Refusal) in try put(seconds: collection.modified) }
    default: throw .unknownProperty(name)
    }
  }
}
