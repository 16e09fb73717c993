internal import CofferPlatform
internal import Synchronization

/// One merge at a time in a process: two that took two vaults in opposite order would deadlock.
enum MergeTurn {
  private static let turn = Mutex(())

  static func take<Result>(_ body: () throws(StoreError) -> sending Result) throws(StoreError) -> sending Result {
    try turn.withLock { (_) throws(StoreError) in try body() }
  }
}
