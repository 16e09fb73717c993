public import CofferPlatform
internal import CofferStorage
internal import Synchronization
internal import SystemPackage

extension DefaultsDomain {
  /// Removes the domain: every value, the property list and what is kept beside it. Copies of damaged lists stay.
  ///
  /// Programs that have the domain open find it empty, and may write it again. A link to the list stays a link.
  ///
  /// - Throws: `StoreError` `.readOnly`, `.busy`, `.denied`, `.damaged`; `.pending` while the outcome of a transaction is
  ///   unknown.
  public func remove() throws(StoreError) {
    guard try FileStatus(at: folder) != nil else { return }
    let files = try ListFiles(resolving: file)
    let found = try [FileStatus(at: files.list), FileStatus(at: files.journal)]
    guard found.contains(where: { $0 != nil }) else { return }
    var options = EngineOptions()
    options.foldsWhenIdle = false
    try EngineLease(file, options).engine.removeDomain()
  }
}

extension DefaultsEngine {
  fileprivate func removeDomain() throws(StoreError) {
    // From here on the domain is empty, whatever interrupts the removal of its files.
    try removeAll(prefix: "")
    try holdingLock(checkingName: true) { (journal) throws(StoreError) in
      try writable(journal, []) { (state) throws(StoreError) in
        for name in state.batches.undecidedNames { try state.batches.checkDecided(name, files.list) }
      }
      for path in [files.list, files.lastGood] { try remove(path) }
      try AtomicFile.synchronizeFolder(of: files.list, calls)
      try journal.synchronize()
      PreparedBatches(engine: self).forgetFinished()
      // Who waits for this lock must not write into a file without a name. Said before the word: whoever reads the word knows.
      try journal.memory.mark(.removed)
      try state.withLock { (state) throws(StoreError) in
        state.seen = try journal.beginEpoch(after: state.seen, list: .none, foldedFrom: nil, survivors: [], writer: writer)
        state.start = state.seen.end
        state.begin(with: ListContent(values: [:], encoding: .xml, fingerprint: .none, isSettled: true))
        state.nextLook = 0
      }
      try remove(files.journal)
    }
  }

  private func remove(_ path: FilePath) throws(StoreError) {
    let result = calls.unlink(path.string)
    guard result == 0 || result == -ENOENT else { throw StoreError(errno: -result, "remove the file", place: path) }
  }
}
