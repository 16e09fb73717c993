internal import CofferAgent
internal import CofferPlatform
internal import Dispatch

// What clients are told without having asked.
extension ServiceLoop {
  /// Sends a signal to whoever listens.
  private func signal(
    _ member: String, _ interface: Interface, at path: String, _ put: (BusMessage) throws(Refusal) -> Void
  ) {
    do throws(Refusal) {
      let signal = try BusMessage(signal: member, interface.name, at: path, bus)
      try put(signal)
      send(signal)
    } catch {
      fail(StoreError(.memory, "a signal cannot be made: \(error.text)", place: bus.address, cure: "close other programs"))
    }
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

  /// Tells what happened to an item.
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

  // MARK: The vault's state

  /// Takes note of what the agent's vault is now.
  func note(_ now: AgentMoment?) {
    let wasUnlocked = isUnlocked
    moment = now
    if isUnlocked {
      surveyIsDue = true
      unlocked()
    } else {
      vault.forget()
    }
    guard isUnlocked != wasUnlocked else { return }
    for collection in book.collections where collection.name != CollectionState.session { tellLock(collection) }
  }

  private func tellLock(_ collection: CollectionState) {
    signal("CollectionChanged", .service, at: ObjectPath.root, about: collection.path)
    changed(.collection, at: collection.path) { [isUnlocked] (signal) throws(Refusal) in
      try signal.putProperty("Locked", "b") { () throws(Refusal) in try signal.put(!isUnlocked) }
    }
  }

  /// Takes note of the collections, and tells what differs.
  func note(_ new: CollectionBook) {
    let old = book
    book = new
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
    guard old.collections.map(\.name) != new.collections.map(\.name) else { return }
    changed(.service, at: ObjectPath.root) { (signal) throws(Refusal) in
      try signal.putProperty("Collections", "ao") { () throws(Refusal) in try signal.put(paths: new.collections.map(\.path)) }
    }
  }

  // MARK: Changes by others

  /// Of the time, the most that looking for changes takes: with many items it takes some milliseconds each.
  private static let surveyShare = 10

  /// Looks for what others changed, on the queue.
  func startDueSurvey() {
    guard surveyIsDue, !surveyIsRunning, isUnlocked, ContinuousClock.now >= nextSurvey else { return }
    (surveyIsDue, surveyIsRunning) = (false, true)
    let (vault, inbox) = (vault, inbox)
    queue.async {
      let start = ContinuousClock.now
      var survey: Survey?
      // What is wrong is said to clients when they ask.
      do throws(Refusal) { survey = try vault.survey() } catch { vault.forget() }
      inbox.post(.surveyed(survey, cost: .now - start))
    }
  }

  func surveyed(_ survey: Survey?, _ cost: Duration) {
    surveyIsRunning = false
    nextSurvey = .now + cost * Self.surveyShare
    guard let survey else { return }
    note(survey.book)
    for event in survey.events { tell(event) }
  }
}
