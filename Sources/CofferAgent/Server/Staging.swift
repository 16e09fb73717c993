internal import CofferClient
internal import CofferPlatform
internal import CofferVault
internal import Synchronization

/// Added in one transaction, which may exceed one message.
struct StagedItems: Sendable {
  fileprivate(set) var items: [ImportedItem] = []
  fileprivate var bytes = 0
}

/// The memory for waiting items, shared by all clients, each of which could otherwise exhaust it.
final class Staging: Sendable {
  private let used = Mutex(0)

  /// Appends `new`, which took `bytes` in a message, to the waiting items.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/tooLarge(limit:)`` if they are too many,
  ///   ``/CofferPlatform/StoreError/Kind/busy`` if other clients' items take the room.
  func take(_ new: [ImportedItem], bytes: Int, into staged: inout StagedItems) throws(StoreError) {
    guard staged.items.count + new.count <= AgentProtocol.mostStaged else {
      throw Self.tooLarge(AgentProtocol.mostStaged, "more than \(AgentProtocol.mostStaged) items to be added at once")
    }
    guard staged.bytes + bytes <= AgentProtocol.mostStagedBytes else {
      throw Self.tooLarge(AgentProtocol.mostStagedBytes, "more items than the agent takes at once")
    }
    try used.withLock { (used) throws(StoreError) in
      guard used + bytes <= AgentProtocol.mostStagedBytes else {
        throw StoreError(
          .busy, "the agent has the items of another import in its memory", place: "agent", cure: "try again once that has ended")
      }
      used += bytes
    }
    staged.items += new
    staged.bytes += bytes
  }

  private static func tooLarge(_ limit: Int, _ what: String) -> StoreError {
    StoreError(.tooLarge(limit: limit), what, cure: "add fewer, or unlock the vault in this process")
  }

  func leave(_ staged: inout StagedItems) {
    used.withLock { $0 -= staged.bytes }
    staged = StagedItems()
  }
}
