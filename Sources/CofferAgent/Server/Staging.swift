internal import CofferPlatform
internal import CofferStorage
internal import CofferVault
internal import Synchronization

/// Items of one client that wait to be added in one transaction: they may be more than fits in a message.
struct StagedItems: Sendable {
  fileprivate(set) var items: [ImportedItem] = []
  fileprivate var bytes = 0
}

/// The room for items that wait, which all clients share: each of them alone could else fill the memory.
final class Staging: Sendable {
  private let used = Mutex(0)

  /// Has `new`, which came as so many bytes, wait behind those that do.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/tooLarge(limit:)`` where they are too many,
  ///   ``/CofferPlatform/StoreError/Kind/busy`` where those of others take the room.
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

  /// Drops the waiting items.
  func leave(_ staged: inout StagedItems) {
    used.withLock { $0 -= staged.bytes }
    staged = StagedItems()
  }
}
