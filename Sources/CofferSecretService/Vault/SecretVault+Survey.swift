internal import CofferAgent
internal import CofferPlatform
internal import CofferVault
internal import Synchronization

/// News for clients after others' changes.
struct Survey: Sendable {
  let book: CollectionBook
  let events: [ItemEvent]
  let items: [String: [String]]
}

extension SecretVault {
  /// Compares the items with the clients' knowledge, and updates that.
  func survey() throws(Refusal) -> Survey {
    let book = try book()
    var now: [ItemPath: StoredItem] = [:]
    let found = try find([:], in: nil)
    for item in found where item.path.collection != CollectionState.session { now[item.path] = item }
    let items = Dictionary(grouping: found.map(\.path), by: \.collection).mapValues { $0.map(\.text) }
    let before = state.known.withLock { known in
      defer { known = now }
      return known
    }
    guard let before else { return Survey(book: book, events: [], items: items) }
    var events: [ItemEvent] = []
    for (path, item) in before where now[path] == nil { events.append(ItemEvent(.deleted, item)) }
    for (path, item) in now {
      switch before[path] {
      case nil: events.append(ItemEvent(.created, item))
      case let old? where old != item: events.append(ItemEvent(.changed, item))
      default: break
      }
    }
    return Survey(book: book, events: events.sorted { $0.item.path.text < $1.item.path.text }, items: items)
  }

  /// Forgets the clients' knowledge after a lock.
  func forget() { state.known.withLock { $0 = nil } }

  /// Whether the agent holds the vault unlocked.
  func isUnlocked() throws(Refusal) -> Bool {
    do throws(StoreError) { return try client.moment(after: nil).vault != nil } catch {
      guard error.kind == .noAgent else { throw Refusal(error, at: ObjectPath.root) }
      return false
    }
  }

  func lock() throws(Refusal) {
    do throws(StoreError) { try client.lock() } catch {
      guard error.kind == .noAgent else { throw Refusal(error, at: ObjectPath.root) }
    }
  }
}
