internal import CofferAgent
internal import CofferPlatform

/// Reads each call on the bus's thread, and does its work outside of it.
final class MethodCalls {
  private unowned let service: ServiceLoop
  private let properties: PropertyCalls

  init(_ service: ServiceLoop) {
    self.service = service
    properties = PropertyCalls(service)
  }

  func answer(_ message: BusMessage) {
    do throws(Refusal) {
      let path = message.path
      guard let object = ObjectPath(path) else { throw .unknownObject(path) }
      let (interface, method) = try method(of: message, object)
      guard message.signature == method.signature else {
        throw .invalidArguments("\(method.name) takes '\(method.signature)', and not '\(message.signature)'")
      }
      switch interface.name {
      case Interface.introspectable.name: try properties.introspect(message, object)
      case Interface.propertiesOf.name: try properties.answer(message, object, method.name)
      default: try call(message, object, method.name)
      }
    } catch { service.refuse(message, error) }
  }

  /// A caller may omit the interface.
  private func method(of message: BusMessage, _ object: ObjectPath) throws(Refusal) -> (Interface, Interface.Method) {
    let named = message.interface
    let interfaces = object.interfaces.filter { named.isEmpty || $0.name == named }
    guard !interfaces.isEmpty else { throw .unknownInterface(named) }
    for interface in interfaces {
      if let method = interface.methods.first(where: { $0.name == message.member }) { return (interface, method) }
    }
    throw .unknownMethod(message.member)
  }

  private func call(_ message: BusMessage, _ object: ObjectPath, _ method: String) throws(Refusal) {
    switch object {
    case .service: try callService(message, method)
    case .collection(let name): try callCollection(message, method) { _ throws(Refusal) in name }
    case .alias(let alias):
      try callCollection(message, method) { (vault) throws(Refusal) in
        // It leads to a standard collection until another is known.
        try vault.collection(behind: alias)
      }
    case .item(let path): try callItem(message, method, path)
    case .session:
      try service.sessions.close(message)
      try service.reply(message) { (_) throws(Refusal) in }
    case .prompt: try service.prompts.call(message, method)
    case .portal: try retrieveSecret(message)
    case .folder: throw .unknownMethod(method)
    }
  }

  // MARK: Service

  private func callService(_ message: BusMessage, _ method: String) throws(Refusal) {
    switch method {
    case "OpenSession": service.send(try service.sessions.open(message))
    case "CreateCollection": try createCollection(message)
    case "SearchItems":
      let attributes = try message.attributes()
      try service.ask(message, isQuick: !attributes.isEmpty) { (vault) throws(Refusal) in
        try vault.find(attributes, in: nil).map(\.path.text)
      } _: { [self] (paths) throws(Refusal) in
        try service.reply(message) { (answer) throws(Refusal) in
          try answer.put(paths: paths)
          // Attributes are sealed: a locked vault cannot be searched.
          try answer.put(paths: [])
        }
      }
    case "Unlock": try service.prompts.unlock(message)
    case "Lock": try service.prompts.lock(message, paths: message.paths())
    case "LockService": try service.prompts.lock(message, paths: nil)
    case "GetSecrets": try getSecrets(message)
    case "ReadAlias":
      let alias = try message.string()
      // Standard aliases are answered while the vault is locked: Chromium asks for them first, and gives up after an error.
      try service.knowingBook(message, isNeeded: CollectionBook().collection(behind: alias) == nil) { [self] () throws(Refusal) in
        try service.reply(message) { (answer) throws(Refusal) in try answer.put(path: path(behind: alias)) }
      }
    case "SetAlias": try setAlias(message)
    default: throw .unknownMethod(method)
    }
  }

  /// The path of the collection behind an alias. Until that is known, it is the alias's own, which leads there at each call:
  /// in another collection a program would find nothing, and store its values again.
  private func path(behind alias: String) -> String {
    guard service.book.isRead || alias == CollectionState.session else { return ObjectPath.of(alias: alias) }
    return service.book.collection(behind: alias).map(ObjectPath.of(collection:)) ?? ObjectPath.none
  }

  private func setAlias(_ message: BusMessage) throws(Refusal) {
    let (alias, path) = (try message.string(), try message.objectPath())
    guard !alias.isEmpty, alias.utf8.count <= Self.longestAlias else {
      throw .invalidArguments("an alias has 1 to \(Self.longestAlias) bytes")
    }
    var object: ObjectPath?
    if path != ObjectPath.none {
      object = ObjectPath(path)
      switch object {
      case .collection?, .alias?: break
      default: throw .noSuchObject(path)
      }
    }
    let (given, author) = (object, service.author(of: message))
    try service.ask(message) { (vault) throws(Refusal) in
      var name: String?
      switch given {
      case .collection(let collection)?: name = collection
      case .alias(let other)?: name = try vault.collection(behind: other)
      default: break
      }
      try vault.setAlias(alias, name, by: author)
      return try vault.book()
    } _: { [self] (book) throws(Refusal) in
      service.note(book)
      try service.reply(message) { (_) throws(Refusal) in }
    }
  }

  /// Limited as part of an attribute's name.
  private static var longestAlias: Int { 64 }

  private func createCollection(_ message: BusMessage) throws(Refusal) {
    var label = ""
    try message.entries("v") { (name) throws(Refusal) in
      guard name == Interface.collection.name + ".Label" else { return try message.skip("v") }
      label = try message.text(in: name)
    }
    let alias = try message.string()
    guard alias.utf8.count <= Self.longestAlias else {
      throw .invalidArguments("an alias has at most \(Self.longestAlias) bytes")
    }
    let (given, author) = (label, service.author(of: message))
    try service.ask(message) { (vault) throws(Refusal) in
      let name = try vault.createCollection(given, alias: alias, by: author)
      return (name, try vault.book())
    } _: { [self] (made) throws(Refusal) in
      let (name, book) = made
      service.note(book)
      try service.reply(message) { (answer) throws(Refusal) in
        try answer.put(path: ObjectPath.of(collection: name))
        try answer.put(path: ObjectPath.none)
      }
    }
  }

  /// The most bytes of secrets in one answer, which has a copy of each: a D-Bus message has at most 128 MiB.
  static var mostSecretBytes: Int { 64 << 20 }

  private func getSecrets(_ message: BusMessage) throws(Refusal) {
    // The answer is a dictionary by path: repeated paths appear once.
    var named: Set<String> = []
    let paths = try message.paths().filter { named.insert($0).inserted }
    let session = try service.sessions.session(message.objectPath(), of: message)
    let items = paths.compactMap { (path) -> ItemPath? in if case .item(let item)? = ObjectPath(path) { item } else { nil } }
    try service.ask(message, isQuick: items.count <= 4) { (vault) throws(Refusal) in
      var (secrets, bytes) = ([(String, SecretForm)](), 0)
      for item in items {
        let secret: SecretForm
        // Missing items are omitted, as in other services. Other errors are returned.
        do throws(Refusal) { secret = try vault.secret(item) } catch {
          guard error.name == Refusal.noSuchObject("").name else { throw error }
          continue
        }
        bytes += secret.bytes.count
        guard bytes <= MethodCalls.mostSecretBytes else {
          throw .limit("these secrets have more than \(MethodCalls.mostSecretBytes >> 20) MiB together: ask for fewer at once")
        }
        secrets.append((item.text, secret))
      }
      return secrets
    } _: { [self] (secrets) throws(Refusal) in
      try service.reply(message) { (answer) throws(Refusal) in
        try answer.putArray("{o" + Session.signature + "}") { () throws(Refusal) in
          for (path, secret) in secrets {
            try answer.putEntry("o" + Session.signature) { () throws(Refusal) in
              try answer.put(path: path)
              try session.put(secret, to: answer)
            }
          }
        }
      }
    }
  }

  // MARK: Collections

  private func callCollection(
    _ message: BusMessage, _ method: String, _ name: @escaping @Sendable (SecretVault) throws(Refusal) -> String
  ) throws(Refusal) {
    switch method {
    case "Delete":
      let author = service.author(of: message)
      try service.ask(message) { (vault) throws(Refusal) in
        let events = try vault.deleteCollection(name(vault), by: author)
        return (events, try vault.book())
      } _: { [self] (done) throws(Refusal) in
        for event in done.0 { service.announcer.tell(event) }
        service.note(done.1)
        try service.reply(message) { (answer) throws(Refusal) in try answer.put(path: ObjectPath.none) }
      }
    case "SearchItems":
      let attributes = try message.attributes()
      try service.ask(message, isQuick: !attributes.isEmpty) { (vault) throws(Refusal) in
        let name = try name(vault)
        try vault.requireCollection(name)
        return try vault.find(attributes, in: name).map(\.path.text)
      } _: { [self] (paths) throws(Refusal) in
        try service.reply(message) { (answer) throws(Refusal) in try answer.put(paths: paths) }
      }
    case "CreateItem": try createItem(message, name)
    default: throw .unknownMethod(method)
    }
  }

  private func createItem(
    _ message: BusMessage, _ name: @escaping @Sendable (SecretVault) throws(Refusal) -> String
  ) throws(Refusal) {
    var draft = ItemDraft()
    try message.entries("v") { (property) throws(Refusal) in
      switch property {
      case Interface.item.name + ".Label": draft.label = try message.text(in: property)
      case Interface.item.name + ".Attributes": draft.attributes = try message.attributes(in: property)
      default: try message.skip("v")
      }
    }
    let secret = try service.sessions.secret(message)
    let replaces = try message.flag()
    let (given, author) = (draft, service.author(of: message))
    try service.ask(message) { (vault) throws(Refusal) in
      try vault.create(given, secret, in: name(vault), replaces: replaces, by: author)
    } _: { [self] (event) throws(Refusal) in
      service.announcer.tell(event)
      try service.reply(message) { (answer) throws(Refusal) in
        try answer.put(path: event.item.path.text)
        try answer.put(path: ObjectPath.none)
      }
    }
  }

  // MARK: Items

  private func callItem(_ message: BusMessage, _ method: String, _ path: ItemPath) throws(Refusal) {
    switch method {
    case "Delete":
      let author = service.author(of: message)
      try service.ask(message) { (vault) throws(Refusal) in
        try vault.delete(path, by: author)
      } _: { [self] (event) throws(Refusal) in
        service.announcer.tell(event)
        try service.reply(message) { (answer) throws(Refusal) in try answer.put(path: ObjectPath.none) }
      }
    case "GetSecret":
      let session = try service.sessions.session(message.objectPath(), of: message)
      try service.ask(message, isQuick: true) { (vault) throws(Refusal) in
        try vault.secret(path)
      } _: { [self] (secret) throws(Refusal) in
        try service.reply(message) { (answer) throws(Refusal) in try session.put(secret, to: answer) }
      }
    case "SetSecret":
      let secret = try service.sessions.secret(message)
      let author = service.author(of: message)
      try service.ask(message) { (vault) throws(Refusal) in
        try vault.setSecret(secret, at: path, by: author)
      } _: { [self] (event) throws(Refusal) in
        service.announcer.tell(event)
        try service.reply(message) { (_) throws(Refusal) in }
      }
    default: throw .unknownMethod(method)
    }
  }

  // MARK: The portal

  private func retrieveSecret(_ message: BusMessage) throws(Refusal) {
    _ = try message.objectPath()
    let application = try message.string()
    // The message's own descriptor ends with it.
    let descriptor = fcntl(try message.descriptor(), F_DUPFD_CLOEXEC, 0)
    guard descriptor >= 0 else { throw .limit("this process has no descriptor left") }
    let author = service.author(of: message)
    let end = PortalEnd(descriptor)
    try service.ask(message) { (vault) throws(Refusal) in
      try vault.portalSecret(application, by: author)
    } _: { [self] (secret) throws(Refusal) in
      try end.write(secret)
      try service.reply(message) { (answer) throws(Refusal) in
        try answer.put(UInt32(0))
        try answer.putArray("{sv}") { () throws(Refusal) in }
      }
    }
  }
}

// Values in variants, as clients send properties.
extension BusMessage {
  func text(in property: String) throws(Refusal) -> String {
    guard try variantContents() == "s" else { throw .invalidArguments("\(property) is not text") }
    return try variant("s") { () throws(Refusal) in try string() }
  }

  func attributes(in property: String) throws(Refusal) -> [String: String] {
    guard try variantContents() == "a{ss}" else { throw .invalidArguments("\(property) is not a dictionary of texts") }
    return try variant("a{ss}") { () throws(Refusal) in try attributes() }
  }
}
