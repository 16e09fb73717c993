internal import CofferPlatform

/// Sends signals to clients, on the bus's thread.
final class Announcer {
  private let bus: Bus
  private let send: (BusMessage) -> Void
  private let fail: (StoreError) -> Void

  init(_ bus: Bus, send: @escaping (BusMessage) -> Void, fail: @escaping (StoreError) -> Void) {
    self.bus = bus
    self.send = send
    self.fail = fail
  }

  /// Broadcasts a signal.
  private func signal(
    _ member: String, _ interface: Interface, at path: String, _ put: (BusMessage) throws(Refusal) -> Void
  ) {
    do throws(Refusal) {
      let signal = try BusMessage(signal: member, interface.name, at: path, bus)
      try put(signal)
      send(signal)
    } catch { failed(error) }
  }

  private func signal(_ member: String, _ interface: Interface, at path: String, about object: String) {
    signal(member, interface, at: path) { (signal) throws(Refusal) in try signal.put(path: object) }
  }

  private func changed(_ interface: Interface, at path: String, _ put: (BusMessage) throws(Refusal) -> Void) {
    signal("PropertiesChanged", .propertiesOf, at: path) { (signal) throws(Refusal) in
      try signal.put(interface.name)
      try signal.putArray("{sv}") { () throws(Refusal) in try put(signal) }
      try signal.putArray("s") { () throws(Refusal) in }
    }
  }

  func tell(_ event: ItemEvent) {
    let item = event.item
    let collection = ObjectPath.of(collection: item.path.collection)
    switch event.kind {
    case .created: signal("ItemCreated", .collection, at: collection, about: item.path.text)
    case .deleted: signal("ItemDeleted", .collection, at: collection, about: item.path.text)
    case .changed:
      signal("ItemChanged", .collection, at: collection, about: item.path.text)
      changed(.item, at: item.path.text) { (signal) throws(Refusal) in
        try signal.putProperties(of: item, isLocked: false)
      }
    }
  }

  func tellItems(_ paths: [String], of collection: String) {
    changed(.collection, at: ObjectPath.of(collection: collection)) { (signal) throws(Refusal) in
      try signal.putProperty("Items", "ao") { () throws(Refusal) in try signal.put(paths: paths) }
    }
  }

  func tellLock(_ collection: CollectionState, isLocked: Bool) {
    signal("CollectionChanged", .service, at: ObjectPath.root, about: collection.path)
    changed(.collection, at: collection.path) { (signal) throws(Refusal) in
      try signal.putProperty("Locked", "b") { () throws(Refusal) in try signal.put(isLocked) }
    }
  }

  /// Signals the differences between the collections.
  func tell(from old: CollectionBook, to new: CollectionBook) {
    guard old != new else { return }
    for collection in old.collections where new[collection.name] == nil {
      signal("CollectionDeleted", .service, at: ObjectPath.root, about: collection.path)
    }
    for collection in new.collections {
      guard let before = old[collection.name] else {
        signal("CollectionCreated", .service, at: ObjectPath.root, about: collection.path)
        continue
      }
      guard before.label != collection.label else { continue }
      signal("CollectionChanged", .service, at: ObjectPath.root, about: collection.path)
      changed(.collection, at: collection.path) { (signal) throws(Refusal) in
        try signal.putProperty("Label", "s") { () throws(Refusal) in try signal.put(collection.label) }
      }
    }
    guard old.collections.map(\.path) != new.collections.map(\.path) else { return }
    changed(.service, at: ObjectPath.root) { (signal) throws(Refusal) in
      try signal.putProperty("Collections", "ao") { () throws(Refusal) in try signal.put(paths: new.collections.map(\.path)) }
    }
  }

  /// Signals the outcome of a prompt, only to its client.
  func complete(_ prompt: Prompt, isDone: Bool) {
    do throws(Refusal) {
      let signal = try BusMessage(signal: "Completed", Interface.prompt.name, at: prompt.path, bus)
      try signal.put(!isDone)
      try signal.putVariant("ao") { () throws(Refusal) in try signal.put(paths: isDone ? prompt.objects : []) }
      try signal.address(to: prompt.client)
      send(signal)
    } catch { failed(error) }
  }

  private func failed(_ refusal: Refusal) {
    fail(StoreError(.memory, "a signal cannot be made: \(refusal.text)", place: bus.address, cure: "close other programs"))
  }
}
