internal import CofferPlatform
internal import CofferStorage
internal import Synchronization

// Every write takes the lock, catches up, drops changes without effect, and appends one record.
extension DefaultsEngine {
  @inline(__always)
  func save(_ form: PlainForm?, for name: String) throws(StoreError) {
    if let form { try StorableForm.check(form, for: name) }
    let needsFold = try writing { (journal) throws(StoreError) in
      try writable(journal, [name]) { (state) throws(StoreError) in try write(form, name, &state, journal) }
    }
    if needsFold { Fold(engine: self).soon() }
    idle.wrote(self)
  }

  /// `body` runs under the file's lock, with the state unlocked, so that readers are not blocked. Without a value in the
  /// domain it gets the one from `beneath`.
  func update(
    _ name: String, beneath: () throws(StoreError) -> PlainForm?, _ body: (PlainForm?) throws(StoreError) -> PlainForm?
  ) throws(StoreError) {
    let needsFold = try writing { (journal) throws(StoreError) -> Bool? in
      let stored = try writable(journal, [name]) { (state) throws(StoreError) in
        try ForeignChanges(engine: self).rereadIfChanged(&state, patiently: true)
        return state.values[name]
      }
      guard let stored else { return nil }
      let old = if let stored { stored } else { try beneath() }
      let new = try Reentrancy.inside { () throws(StoreError) in try body(old) }
      if stored == nil, new == old { return false }
      if let new { try StorableForm.check(new, for: name) }
      return try writable(journal, [name]) { (state) throws(StoreError) in try write(new, name, &state, journal) }
    }
    if needsFold { Fold(engine: self).soon() }
    idle.wrote(self)
  }

  func commit(
    _ changes: [Record.Change], _ cause: Record.Cause, if expectations: [String: PlainForm?]
  ) throws(StoreError) {
    if changes.isEmpty, !isWritable { return try PreparedBatches(engine: self).compare(expectations, then: nil) }
    for change in changes { if let form = change.form { try StorableForm.check(form, for: change.name) } }
    let needsFold = try writing { (journal) throws(StoreError) in
      try writable(journal, changes.map(\.name) + expectations.keys) { (state) throws(StoreError) in
        let effective = try effects(of: changes, if: expectations, &state)
        guard !effective.isEmpty else { return false }
        try append(.write(effective, cause), &state, journal)
        return wantsFold(state)
      }
    }
    if needsFold { Fold(engine: self).soon() }
    idle.wrote(self)
  }

  func removeAll(prefix: String) throws(StoreError) {
    try writing { (journal) throws(StoreError) in
      try writable(journal, state.withLock { $0.batches.undecidedNames.filter { $0.rest(after: prefix) != nil } }) {
        (state) throws(StoreError) in
        try ForeignChanges(engine: self).rereadIfChanged(&state, patiently: true)
        let names = state.values.keys.filter { $0.rest(after: prefix) != nil }
        if !names.isEmpty { try append(.write(names.map { ($0, nil) }), &state, journal) }
      }
    }
    idle.wrote(self)
  }

  // MARK: Steps

  /// Runs `body` as the only writer. If the journal is full, or `body` returns nil because of an open batch, it runs again
  /// with the right to fold.
  @inline(__always)
  private func writing<Result>(_ body: (Journal) throws(StoreError) -> Result?) throws(StoreError) -> Result {
    do throws(StoreError) {
      if let result = try holdingLock(body) { return result }
    } catch {
      try makeRoom(after: error)
    }
    if let result = try foldingAlone(body) { return result }
    throw FileLock.busy(files.list, nil, doing: "is settling a transaction")
  }

  /// Folds a full journal, or repairs a damaged list if the policy allows it. Throws `error` for another reason, or if the
  /// fold fails.
  @inline(never)
  func makeRoom(after error: StoreError) throws(StoreError) {
    if try ListRepair(engine: self).heal(after: error) { return }
    guard error.kind == .tooLarge(limit: JournalLayout.capacity), error.place == files.journal.string else { throw error }
    do throws(StoreError) { try Fold(engine: self).synchronize() } catch let obstacle {
      throw StoreError(error.kind, error.what, place: error.place, cure: error.cure, underlying: obstacle)
    }
  }

  /// `body` gets an up-to-date state in which no open batch names any of `names`. Nil if that needs the right to fold.
  @inline(__always)
  func writable<Result>(
    _ journal: Journal, _ names: @autoclosure () -> [String] = [], _ body: (inout EngineState) throws(StoreError) -> Result
  ) throws(StoreError) -> Result? {
    let early = try state.withLock { (state) throws(StoreError) -> Result? in
      try refresh(&state, forWrite: true)
      guard try !journal.isReplaced(state.seen, state.last) else { throw journal.overtaken }
      return state.batches.prepared.isEmpty ? try body(&state) : nil
    }
    if let early { return early }
    // This process has the lock, so the maker of prepared batches has died. Only the current journal settles them.
    guard try !Relocation(engine: self).hasMoved(journal) else { throw journal.overtaken }
    let isSettled = try foldingIfFree { () throws(StoreError) in try PreparedBatches(engine: self).resolve(journal) } != nil
    let names = names()
    return try state.withLock { (state) throws(StoreError) -> Result? in
      for name in names {
        try state.batches.checkDecided(name, files.list)
        if !isSettled, state.batches.isUndecided(name) { return nil }
      }
      return try body(&state)
    }
  }

  /// True when the journal should be folded.
  @inline(__always)
  private func write(
    _ form: PlainForm?, _ name: String, _ state: inout EngineState, _ journal: Journal
  ) throws(StoreError) -> Bool {
    let form = form.map { StorableForm.settled($0, in: state.encoding) }
    var index = state.values.index(forKey: name)
    var old = index.map { state.values[$0].value }
    if old == form {
      // Another program may have written since.
      guard try ForeignChanges(engine: self).rereadIfChanged(&state, patiently: true) else { return false }
      index = state.values.index(forKey: name)
      old = index.map { state.values[$0].value }
      if old == form { return false }
    }
    let weight = state.weight - Budget.weight(of: old, under: name) + Budget.weight(of: form, under: name)
    try checkWeight(weight, state, name)
    let count = Record.headerBytes + Record.bytes(of: form, under: name)
    let epoch = state.seen.epoch
    let last = state.last
    (state.seen, state.last) = try journal.append(count, after: state.seen, keeping: state.keptBytes) { buffer in
      Record.encode(form, under: name, into: buffer, epoch: epoch, after: last, writer: writer)
    }
    state.set(name, form, at: index, weight: weight)
    return wantsFold(state)
  }

  /// Checks the expectations, and drops changes without effect.
  func effects(
    of changes: [Record.Change], if expectations: [String: PlainForm?], _ state: inout EngineState
  ) throws(StoreError) -> [Record.Change] {
    try ForeignChanges(engine: self).rereadIfChanged(&state, patiently: true)
    for (name, expected) in expectations where state.values[name] != expected {
      throw StoreError(
        .conflict, "it was changed since it was read", key: name, place: files.list.string, cure: "read it again and retry")
    }
    var weight = state.weight
    var effective: [Record.Change] = []
    for change in changes {
      let form = change.form.map { StorableForm.settled($0, in: state.encoding) }
      guard state.values[change.name] != form else { continue }
      weight += state.weight(replacing: change.name, by: form) - state.weight
      effective.append((change.name, form))
    }
    try checkWeight(weight, state, effective.first?.name)
    return effective
  }

  @inline(__always)
  private func checkWeight(_ weight: Int, _ state: borrowing EngineState, _ name: String?) throws(StoreError) {
    try Budget.check(weight: weight, before: state.weight, changing: name, in: files.list.string)
  }

  @inline(__always)
  func wantsFold(_ state: borrowing EngineState) -> Bool {
    // A large list is rewritten less often, so that steady writes cost the same for any number of keys.
    state.spentBytes >= max(state.foldAt, min(JournalLayout.foldAt + 2 * state.weight, JournalLayout.foldAtMost))
  }
}
