public import CofferPlatform
internal import CofferStorage
internal import Synchronization

// When the files follow.
extension DefaultsStore {
  /// Writes everything that was acknowledged, by any process, into the property list and to the disk. Foundation and editors
  /// see it from then on, and a power loss loses none of it.
  ///
  /// - Throws: `StoreError` `.noSpace`, `.readOnly`, `.busy`, `.damaged`, `.io`. Acknowledged values are safe all the same.
  public func synchronize() throws(StoreError) {
    try check()
    if engine.isWritable { try Fold(engine: engine).synchronize() }
  }

  /// Like ``synchronize()``, and leaves no trace of removed or replaced values in the journal and in the last good copy: for
  /// a value that should never have been stored in the clear. What the disk keeps of replaced files is out of reach.
  public func scrub() throws(StoreError) {
    try check()
    try Fold(engine: engine).synchronize(scrubbing: true)
  }

  /// Writes what is acknowledged into the property list and ends the store's use: later calls throw
  /// ``/CofferPlatform/StoreError/Kind/closed``. Closing twice does nothing. Other stores of the same domain go on.
  ///
  /// - Throws: what ``synchronize()`` throws; the store is closed all the same, and the values are safe in the journal.
  public func close() throws(StoreError) {
    try Reentrancy.check(place)
    guard !isClosed.exchange(true, ordering: .relaxed) else { return }
    defer { engine.observation.afterTelling(engine) { [changes] in changes.end() } }
    if engine.isWritable { try Fold(engine: engine).synchronize() }
  }
}
