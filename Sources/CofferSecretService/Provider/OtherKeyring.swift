internal import CofferMemory
public import CofferPlatform
internal import CofferStorage
public import CofferVault

/// The contents of another provider of secrets on the session's bus, such as gnome-keyring or KWallet.
///
/// Source: Secret Service API 0.2, "D-Bus API Reference".
public struct OtherKeyring: Sendable {
  /// The provider.
  public let owner: ProviderOwner
  /// Its items, named as in Coffer's Secret Service, where their programs find them.
  public private(set) var items: [ImportedItem] = []
  /// The paths of locked items and collections: nobody is asked to unlock them.
  public private(set) var locked: [String] = []

  /// Reads all items of the provider, except those that end with the session.
  ///
  /// - Throws: `StoreError` `.notFound` if there is no provider; `.refused` if it is Coffer; `.unsupported` without
  ///   libsystemd; `.io` without a bus, and for wrong answers of the provider; `.memory`.
  public init() throws(StoreError) { try self.init(bus: nil) }

  init(bus address: String?) throws(StoreError) {
    let bus = try Bus(address: address)
    guard let other = try bus.owner(of: SecretServiceProvider.busName) else {
      throw StoreError(
        .notFound, "no program answers requests for secrets", place: bus.address, cure: "start the provider that has them")
    }
    guard try bus.owner(of: SecretServiceProvider.portalName)?.connection != other.connection else {
      throw StoreError(
        .refused, "coffer itself answers requests for secrets", place: bus.address,
        cure: "end it, and start the provider that has them")
    }
    owner = ProviderOwner(process: other.process)
    let opened = try bus.call(ObjectPath.root, .service, "OpenSession") { (message) throws(Refusal) in
      try message.put("plain")
      try message.putVariant("s") { () throws(Refusal) in try message.put("") }
    }
    let session = try bus.answered { () throws(Refusal) in
      try opened.skip("v")
      return try opened.objectPath()
    }
    let alias = try bus.call(ObjectPath.root, .service, "ReadAlias") { (message) throws(Refusal) in try message.put("default") }
    let standard = try bus.answered { () throws(Refusal) in try alias.objectPath() }
    for collection in try bus.paths("Collections", of: ObjectPath.root, .service)
    where collection != ObjectPath.of(collection: CollectionState.session) {
      if try bus.isLocked(collection, .collection) {
        locked.append(collection)
        continue
      }
      let name = collection == standard ? CollectionState.login : Self.name(of: collection)
      for path in try bus.paths("Items", of: collection, .collection) {
        if try bus.isLocked(path, .item) {
          locked.append(path)
          continue
        }
        // The provider's own name: a second import finds the item.
        let item = try ItemName(service: VaultNaming.service(of: name), account: Self.name(of: path))
        items.append(ImportedItem(name: item, form: try bus.secret(path, session)))
      }
    }
  }

  private static func name(of path: String) -> String {
    let element = path.split(separator: "/").last.map(String.init) ?? ""
    return PathElement.decode(element) ?? element
  }
}

extension Bus {
  fileprivate func call(
    _ path: String, _ interface: Interface, _ member: String, _ put: (BusMessage) throws(Refusal) -> Void
  ) throws(StoreError) -> BusMessage {
    try call(SecretServiceProvider.busName, path, interface.name, member, put)
  }

  private func property<Value>(
    _ name: String, of path: String, _ interface: Interface, _ type: String, _ read: (BusMessage) throws(Refusal) -> Value
  ) throws(StoreError) -> Value {
    let answer = try call(path, .propertiesOf, "Get") { (message) throws(Refusal) in
      try message.put(interface.name)
      try message.put(name)
    }
    return try answered { () throws(Refusal) in try answer.variant(type) { () throws(Refusal) in try read(answer) } }
  }

  fileprivate func paths(_ name: String, of path: String, _ interface: Interface) throws(StoreError) -> [String] {
    try property(name, of: path, interface, "ao") { (answer) throws(Refusal) in try answer.paths() }
  }

  fileprivate func isLocked(_ path: String, _ interface: Interface) throws(StoreError) -> Bool {
    try property("Locked", of: path, interface, "b") { (answer) throws(Refusal) in try answer.flag() }
  }

  fileprivate func secret(_ path: String, _ session: String) throws(StoreError) -> SecretForm {
    let label = try property("Label", of: path, .item, "s") { (answer) throws(Refusal) in try answer.string() }
    let attributes = try property("Attributes", of: path, .item, "a{ss}") { (answer) throws(Refusal) in try answer.attributes() }
    let answer = try call(path, .item, "GetSecret") { (message) throws(Refusal) in try message.put(path: session) }
    return try answered { () throws(Refusal) in
      try answer.structure(Session.contents) { () throws(Refusal) in
        try answer.skip("oay")
        let value = try answer.bytes { (raw) throws(Refusal) in
          try Refusal.memory { () throws(SecretMemoryError) in try SecretBytes(copying: raw) }
        }
        return SecretForm(value, metadata: ItemMetadata(label: label, contentType: try answer.string(), attributes: attributes))
      }
    }
  }
}
