internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat

/// Contents that the other vault deleted, or that a deletion here beat, for the record of a name here.
struct MergeBurial {
  let name: ItemName
  let line: MergeLine
  /// Of either vault.
  let deletion: MergeDeletion
}

/// The result for a record, present or deleted, with the contents of a burial.
struct MergeGain {
  /// Nil if this vault has neither the record nor a deletion of it.
  let own: MergeLine?
  let line: MergeLine
  let history: Int
  /// The time and the mark of a deleted record; nil for a present one.
  let deletion: (moment: UInt64, mark: RecordMeta.Deletion)?
}

extension MergePlan {
  func line(of record: MergeRecord, in side: MergeSide, _ change: inout Change) throws(StoreError) -> MergeLine {
    let top = side.source(of: record)
    let past = try past(of: top.meta(change), side, &change)
    return MergeLine(top: top, past: try kept(past, of: record.id, change))
  }

  func line(there record: MergeRecord) throws(StoreError) -> MergeLine {
    var none = Change()
    return try line(of: record, in: theirs, &none)
  }

  func gainsPast(_ step: MergeStep) throws(StoreError) -> Bool {
    guard step.verdict.keepsContent, let own = step.ours, let other = step.theirs else { return false }
    var change = ours.change
    return try !gained(line(of: own, in: ours, &change), line(there: other), by: step, &change).isEmpty
  }

  /// The newest previous versions of `other` for which `own` has room. None of its own goes, or the next merge would bring
  /// back the rows that this one dropped.
  func gained(
    _ own: MergeLine, _ other: MergeLine, by step: MergeStep, _ change: inout Change
  ) throws(StoreError) -> [MergeSource] {
    guard let record = step.ours, !other.past.isEmpty else { return [] }
    let room = max(0, history(Int(record.history), Int(step.theirs?.history ?? 0)) - own.past.count)
    // An equal content that was written later replaces this one.
    let top = step.verdict.isOfOurs ? own.top : other.top
    return try new(other.past, beside: own.past + [top], change).sorted(change).suffix(room)
  }

  /// Those that this vault has neither in `known` nor, of one id, anywhere else.
  private func new(
    _ sources: [MergeSource], beside known: [MergeSource], _ change: borrowing Change
  ) throws(StoreError) -> [MergeSource] {
    var new: [MergeSource] = []
    for source in sources where try !source.isRow(of: ours.items, change) {
      let others = try ours.deletions.versions[source.meta(change).id] ?? []
      if try others.first(matching: source, change) == nil { new.append(source) }
    }
    return try new.missing(in: known, change)
  }

  /// Items before fields, each in the order of the deletions.
  func burials(_ change: inout Change) throws(StoreError) -> [MergeBurial] {
    guard keepsDeleted else { return [] }
    var all: [MergeBurial] = [], items: [CommitID: [ItemName: ItemName]] = [:]
    let excluded = Set(ours.all.filter { $0.exclusion != nil }.map(\.name))
    func add(_ name: ItemName, _ line: MergeLine, _ deletion: MergeDeletion) throws(StoreError) {
      guard excluded.isDisjoint(with: [name, name.item]) else { return }
      all.append(MergeBurial(name: try burialName(name), line: line, deletion: deletion))
    }
    for (record, deletion, name) in beaten { try add(name, line(there: record), deletion) }
    let deletions = theirs.deletions.all.filter(\.isCarried)
    // A record that was deleted twice has one name.
    var names = names
    for deletion in deletions.sorted(by: { $0.order < $1.order }) {
      let commit = deletion.deletion.commit
      var name = names[deletion.id] ?? ours.deletions.name(of: deletion.id)
      items[commit, default: [:]][deletion.name] = name
      // A field that changed here keeps an item that only the other vault changed.
      guard since(deletion.id) != .ours, !replaced.contains(deletion.id) else { continue }
      var line = deletion.line
      line.past = try kept(line.past, of: deletion.id, theirs.change)
      // Only the deletion is new, and it was removed for good here.
      if isPurged(deletion.id), line.past.isEmpty, try kept([line.top], of: deletion.id, theirs.change).isEmpty { continue }
      if name == nil {
        let item = items[commit]?[deletion.name.item] ?? deletion.name
        name = try freeName(for: line, as: deletion.name.moved(to: item), &change)
        (items[commit, default: [:]][deletion.name], names[deletion.id]) = (name, name)
      }
      if let name { try add(name, line, deletion) }
    }
    return all
  }

  /// With a number if another present record has the name, and not all of `line` with it. Deleted contents do not make a name
  /// taken, or a second merge would find another number.
  private func freeName(
    for line: MergeLine, as name: ItemName, _ change: inout Change
  ) throws(StoreError) -> ItemName {
    guard try isPresent(name, change), try !new(line.all, beside: versions(of: name, &change).all, change).isEmpty else {
      return name
    }
    return try name.numbered { (name) throws(StoreError) in try !isPresent(name, change) }
  }

  /// The name for a deleted content that comes: with a number if a record that takes no part has its item's.
  func burialName(_ name: ItemName) throws(StoreError) -> ItemName {
    guard ours.isHidden(name.item) || ours.isHidden(name) else { return name }
    let item = try name.item.numbered { (name) throws(StoreError) in try !isTaken(name) }
    return name.moved(to: item)
  }

  /// Nil if this vault has all of it, or no room. The beaten content comes last, because it is replaced now.
  func gain(_ burial: MergeBurial, _ change: inout Change) throws(StoreError) -> MergeGain? {
    let (all, own, isPresent) = try versions(of: burial.name, &change)
    let other = burial.line
    let theirs = try other.top.meta(change)
    let deletion = burial.deletion
    guard let own else {
      let most = history(0, Int(theirs.history))
      return MergeGain(
        own: nil, line: MergeLine(top: other.top, past: other.past.suffix(most)), history: most,
        deletion: (deletion.moment, deletion.deletion))
    }
    let mine = try own.top.meta(change)
    let content = try new([other.top], beside: all, change).first
    // Nothing else may have a content that a deletion beat, and none kept here goes for another one.
    let least = isPresent && theirs.kind == .deleted ? 0 : own.past.count + (content == nil ? 0 : 1)
    // A merge there lengthens the history of a deleted record, which gives another one no room here.
    let others = isPresent && theirs.kind == .deleted && theirs.id != mine.id ? 0 : Int(theirs.history)
    let most = min(max(history(Int(mine.history), others), least), Int(RecordMeta.longestHistory))
    var (pinned, top) = (content, own.top)
    let past = try new(other.past, beside: all + [other.top], change).sorted(change)
    if let newer = pinned, !isPresent, mine.id == theirs.id {
      let isOlder = try own.top.open(change).isBefore(newer.open(change))
      // As a previous version it has its own time.
      let known = try other.past.first(matching: own.top, change)
      if isOlder || known != nil {
        let elsewhere = try self.theirs.deletions.versions[mine.id]?.first(matching: own.top, change)
        (pinned, top) = (known ?? elsewhere ?? own.top, newer)
      }
    }
    let room = max(0, most - own.past.count - (pinned == nil ? 0 : 1))
    var joined = try (own.past + past.suffix(room)).sorted(change) + (pinned.map { [$0] } ?? [])
    // By its age, so that a second merge keeps the same ones.
    if isPresent, theirs.kind == .deleted { joined = try joined.sorted(change) }
    let line = MergeLine(top: top, past: joined.suffix(most))
    var moment = mine.modified
    if theirs.id == mine.id {
      // A time ahead counts as now, and so as another one at each merge.
      if deletion.recorded == deletion.moment { moment = max(moment, deletion.moment) }
      // Not before the content that it beat.
      if theirs.kind == .present { moment = max(moment, min(deletion.recorded, theirs.modified)) }
    }
    guard line.all.contains(where: { !$0.isOurs }) || (!isPresent && moment > mine.modified) else { return nil }
    return MergeGain(own: own, line: line, history: most, deletion: mine.deletion.map { (moment, $0) })
  }

  private func isPresent(_ name: ItemName, _ change: borrowing Change) throws(StoreError) -> Bool {
    let index = ours.items.index(of: name)
    return try ours.items.records.list(of: ours.items.bucket(of: index), change).record(at: index) != nil
  }

  /// All that this vault has under a name, and its present or last deleted line.
  private func versions(
    of name: ItemName, _ change: inout Change
  ) throws(StoreError) -> (all: [MergeSource], line: MergeLine?, isPresent: Bool) {
    let items = ours.items, index = items.index(of: name)
    let notes = try items.records.notes(of: items.index(of: name.item), in: .old, &change)
      .filter { $0.present == index }.sorted { $0.revision < $1.revision }
    let past = notes.map { MergeSource($0, of: items, isOurs: true) }
    let isPresent = try isPresent(name, change)
    let end = isPresent ? notes.endIndex : notes.lastIndex { $0.kind == .deleted } ?? notes.endIndex
    let start = notes[..<end].lastIndex { $0.kind == .deleted }.map { $0 + 1 } ?? 0
    let present = MergeSource(items: items, table: .present, index: index, isOurs: true)
    let top = isPresent ? present : end < past.endIndex ? past[end] : nil
    return (past + (isPresent ? [present] : []), top.map { MergeLine(top: $0, past: Array(past[start..<end])) }, isPresent)
  }
}
