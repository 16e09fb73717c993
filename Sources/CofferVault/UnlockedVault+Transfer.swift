public import CofferPlatform
public import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows
public import FoundationEssentials
public import SystemPackage

extension UnlockedVault {
  /// Adds all of `items` in one transaction, or none.
  ///
  /// - Parameters:
  ///   - items: items and fields in any order, each name once.
  ///   - duplicates: how to treat taken names.
  ///   - keeping: the number of previous versions that a new item keeps.
  ///   - isTrial: whether only to report the effects.
  ///   - progress: receives the number of sealed items before each next one.
  /// - Throws: `StoreError` `.alreadyExists` (names the item; ``DuplicatePolicy/refuse``), `.refused` (would replace a
  ///   login), `.ambiguous` (a name given twice), `.tooLarge`, `.invalidName`, and the errors of writing. Only
  ///   `.outcomeUnknown` may leave a change.
  public borrowing func add(
    _ items: [ImportedItem], duplicates: DuplicatePolicy = .refuse, keeping: Int = 0, isTrial: Bool = false,
    progress: (Int) -> Void = { _ in }
  ) throws(StoreError) -> ImportReport {
    guard !isTrial else {
      return try core.read { (vault) throws(StoreError) in try vault.items.transfer.plan(items, duplicates, isTrial: true) }
    }
    return try core.write { (vault, change) throws(StoreError) in
      let report = try vault.items.transfer.plan(items, duplicates)
      if duplicates == .replaceWithFields { try vault.items.transfer.removeFields(notIn: items, &change) }
      let kept = Set(report.kept)
      // A field needs its item first.
      let ordered = items.filter(\.name.field.isEmpty) + items.filter { !$0.name.field.isEmpty }
      let previous = Dictionary(grouping: ordered.lazy.filter(\.isPrevious), by: \.name)
      for (index, item) in ordered.enumerated() where !item.isPrevious && !kept.contains(item.name) {
        progress(index)
        let versions = try vault.items.transfer.joining(previous[item.name] ?? [], to: item.name) + [item]
        for version in versions {
          try vault.items.transfer.adopt(version, keeping: RecordLimits.history(keeping), &change)
        }
      }
      return report
    }
  }

  /// Lends each item with its value to `body`, by name, for an export. Includes expired items.
  ///
  /// - Parameters:
  ///   - withFields: whether to lend each item's fields after it.
  ///   - withoutValue: receives an item without a value, which only other programs make.
  ///   - unreadable: receives an item with a damaged value, and the error.
  ///   - body: receives each other item and its value.
  /// - Throws: `StoreError` `.damaged` for an item without a value if `withoutValue` is nil, `.damaged` and
  ///   `.tampered` for a damaged value if `unreadable` is nil, `.conflict` for an item deleted
  ///   meanwhile, and the errors of the closures.
  public borrowing func forEachItem(
    withFields: Bool = false,
    withoutValue: ((VaultItem) throws -> Void)? = nil, unreadable: ((VaultItem, StoreError) -> Void)? = nil,
    _ body: (VaultItem, SecretForm) throws -> Void
  ) throws {
    let items = try core.read { (vault) throws(StoreError) in try vault.items.list(service: nil, withFields: withFields) }
    for item in items {
      let form: SecretForm??
      do throws(StoreError) {
        form = try core.read(about: item.name) { (vault) throws(StoreError) in try vault.items.form(item.name) }
      } catch {
        guard let unreadable, [.damaged, .tampered].contains(error.kind) else { throw error }
        unreadable(item, error.about(key: item.name.description))
        continue
      }
      guard let form else {
        throw StoreError(
          .conflict, "the item was deleted meanwhile", key: item.name.description, place: place.description,
          cure: "try again")
      }
      if let form {
        try body(item, form)
      } else if let withoutValue {
        try withoutValue(item)
      } else {
        throw ItemTable.withoutValue(item.name, place)
      }
    }
  }

  /// The contents of `names` from one moment.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/tooLarge(limit:)`` above `mostBytes` of values.
  package borrowing func contents(of names: [ItemName], mostBytes: Int) throws(StoreError) -> [StoredContent] {
    try core.read { (vault) throws(StoreError) in
      var (contents, bytes) = ([StoredContent](), 0)
      for name in names {
        let content: StoredContent =
          switch try vault.items.form(name) {
          case .none: .absent
          case .some(.none): .withoutValue
          case .some(.some(let form)): .form(form)
          }
        if case .form(let form) = content { bytes += form.bytes.count }
        guard bytes <= mostBytes else {
          throw StoreError(
            .tooLarge(limit: mostBytes), "the requested values have more bytes than are read at once",
            place: vault.view.place.description, cure: "ask for fewer at once, or unlock the vault in this process")
        }
        contents.append(content)
      }
      return contents
    }
  }

  /// Exports the current items and fields, or those of some services, to a new vault that opens with `credentials`. It holds
  /// no key, slot, id or previous version of this vault. The items keep their ids.
  ///
  /// The file is private to its owner and appears under its name once complete, in any folder that this user can write. This
  /// machine remembers a new vault on a server if this vault's options name a folder of pins.
  ///
  /// - Parameters:
  ///   - target: the place of the new vault.
  ///   - services: the services to export; nil for all.
  ///   - credentials: what will open the new vault.
  ///   - cost: the Argon2id cost of a passphrase.
  ///   - label: a name for its slot.
  /// - Returns: the number of exported items.
  /// - Throws: `StoreError` `.alreadyExists`, `.notFound` (a service without items), and the errors of creating a vault.
  ///   Leaves nothing behind.
  public borrowing func export(
    to target: VaultPlace, services: [String]? = nil, with credentials: consuming Credentials, cost: PassphraseCost = .standard,
    label: String = ""
  ) throws(StoreError) -> Int {
    try ExportedVault.make(at: target, of: place, with: credentials, cost: cost, label: label, pins: core.options.pins) {
      (made) throws(StoreError) in
      try core.read { (vault) throws(StoreError) in try vault.items.transfer.copyItems(of: services, to: made) }
    }
  }

  /// Creates or refreshes `file`, this machine's mirror of the vault: an ordinary vault file of one commit with the same
  /// sealed rows and slots. ``/CofferVaultRows/VaultPlace/mirror(_:)`` reads it while the server is unreachable.
  ///
  /// The verified copy replaces the mirror atomically; after an error the mirror is unchanged. This machine remembers the
  /// mirror's commit. An intact mirror of the newest commit is not rewritten.
  ///
  /// ```swift
  /// let vault = try LockedVault.open("postgresql://db.example.com/team#main", options: options).unlock(with: credentials)
  /// try vault.mirror(to: "/home/ada/team.mirror")
  /// let offline = try LockedVault.open(.mirror("/home/ada/team.mirror"), options: options)
  /// ```
  ///
  /// - Parameters:
  ///   - file: the mirror, in a folder private to this user. Replaces only this machine's mirror of this vault.
  ///   - progress: receives the number of copied records and the total.
  /// - Throws: `StoreError` `.rolledBack` and `.forked` for a vault older than the mirror or of another history; `.replaced`
  ///   for another vault's mirror; `.alreadyExists` for a file that is no mirror of this machine; `.unsupported` for a vault
  ///   in a file; `.incomplete` if the options name no folder of pins; `.inUse` if a program has the mirror open as a vault;
  ///   `.busy`, `.noSpace`, `.denied`, and the errors of reading the vault.
  @discardableResult
  public borrowing func mirror(
    to file: FilePath, progress: (Int, Int) -> Void = { _, _ in }
  ) throws(StoreError) -> MirrorReport {
    try core.run { (vault) throws(StoreError) in try Mirroring(of: vault, to: file).run(progress) }
  }

  /// Runs ``mirror(to:progress:)`` now, after each commit of another machine, and every `interval`, until the subscription
  /// ends or the vault is locked. Waits for an unreachable server. Takes at most a tenth of the time, unless one refresh
  /// takes longer than 6.6 seconds.
  ///
  /// - Parameters:
  ///   - file: the mirror.
  ///   - interval: the time between polls, because a server may withhold news of commits.
  ///   - told: receives the result of each refresh, on another thread.
  /// - Throws: `StoreError` `.unsupported` for a vault in a file, `.unreachable`, and the errors of connecting to the
  ///   server.
  public borrowing func keepMirror(
    at file: FilePath, lookingEvery interval: Duration = .seconds(60),
    _ told: @escaping @Sendable (Result<MirrorReport, StoreError>) -> Void
  ) throws(StoreError) -> Subscription {
    try MirrorKeeper(core, file: file, lookingEvery: interval, told).start()
  }

  /// Takes over newer items from `other`: another vault, a diverged copy of this one, or a backup. `other` does not change.
  /// A copy of this vault must have a key of its history.
  ///
  /// Items and fields match by id, or else by name. Of two versions, one wins if its vault alone knows the other as a
  /// previous version. Otherwise it is a conflict: the newer ``VaultItem/written`` wins, then the newer
  /// ``VaultItem/modified``, then the order of the bytes. The loser becomes the newest previous version, even of an item that
  /// keeps none. Previous versions of the other vault are added wherever there is room, whichever content stays. If the
  /// contents are equal, the later write gives the times and the id. The later rename wins. A content with 64 attributes has
  /// no room for the time of its rename; ``MergeReport/undated`` says which name stays.
  ///
  /// An item deleted in one vault stays deleted unless the other changed it later. A deletion applies to an id, under any
  /// name: an item that one vault deleted is not matched by name with another one. A deletion of a time ahead of this clock is
  /// carried on as of now, or as of the last version that it beat. Deleted contents and their previous versions are taken
  /// over, also of items that this vault never had; a content that a deletion beat is kept with them. If two items end up
  /// with one name, one of them gets a number appended. Logins and other items that end with a session are left out.
  ///
  /// Once two vaults have merged each other, they have the same items, except those in ``MergeReport/leftOut``. A second
  /// merge changes nothing. A permanent removal leaves no trace: if the other vault has the item or version, it comes back, and
  /// the report names it.
  ///
  /// ```swift
  /// let report = try vault.merge(laptop, keeping: 10)
  /// for conflict in report.conflicts { print(conflict.name, conflict.winner) }
  /// ```
  ///
  /// - Parameters:
  ///   - other: the vault to read.
  ///   - keeping: the minimum number of previous versions to keep of each written item or field; nil for as many as in
  ///     either vault, 0 for none but the loser of a conflict.
  ///   - date: until when an item deleted in `other` can be restored here; nil deletes it for good, and takes over no
  ///     deleted content.
  ///   - isTrial: whether only to report the effects.
  ///   - acceptingOlderKey: whether to merge a copy of this vault under an older key: see
  ///     ``checkCopy(_:acceptingOlderKey:)``.
  ///   - isLeftOut: whether to leave out an item of either vault.
  ///   - progress: receives the number of compared items and the total.
  /// - Throws: the errors of reading `other`, of ``checkCopy(_:acceptingOlderKey:)`` and of writing here. Only
  ///   `.outcomeUnknown` may leave a change.
  public borrowing func merge(
    _ other: borrowing UnlockedVault, keeping: Int? = nil, keptUntil date: Date? = .distantFuture, isTrial: Bool = false,
    acceptingOlderKey: Bool = false, leavingOut isLeftOut: (VaultItem) -> Bool = { _ in false },
    progress: (Int, Int) -> Void = { _, _ in }
  ) throws(StoreError) -> MergeReport {
    if let keeping { _ = try RecordLimits.history(keeping) }
    return try MergeTurn.take { () throws(StoreError) in
      try other.core.read { (theirs) throws(StoreError) in
        func plan(_ ours: OpenVault, _ change: inout Change) throws(StoreError) -> MergePlan {
          try ours.view.checkCopy(theirs.view, acceptingOlderKey)
          return try MergePlan(
            ours.items, theirs.items, keeping: keeping, keepsDeleted: date != nil, leavingOut: isLeftOut, progress: progress,
            &change)
        }
        guard !isTrial else {
          return try core.read { (ours) throws(StoreError) in
            var none = Change()
            return try plan(ours, &none).report
          }
        }
        return try core.write { (ours, change) throws(StoreError) in
          try Merger(plan: plan(ours, &change), keptUntil: date).run(&change)
        }
      }
    }
  }
}

extension UnlockedVault {
  /// Checks that a copy of this vault has a key of this vault's history: the current key, a descendant, or an older one. A
  /// vault with another id passes.
  ///
  /// - Parameters:
  ///   - copy: the other vault.
  ///   - acceptingOlderKey: whether to accept an older key. Anyone who had that key can make such a copy, even a removed member.
  /// - Throws: `StoreError` `.forked` for a key of another history, `.rolledBack` for an older key that is not accepted; the
  ///   errors of reading.
  public borrowing func checkCopy(_ copy: borrowing UnlockedVault, acceptingOlderKey: Bool = false) throws(StoreError) {
    guard id == copy.id else { return }
    try copy.core.read { (copy) throws(StoreError) in
      try core.read { (vault) throws(StoreError) in try vault.view.checkCopy(copy.view, acceptingOlderKey) }
    }
  }
}

extension UnlockedVault {
  /// Runs `body` in one write transaction, which merges heads.
  ///
  /// - Parameters:
  ///   - key: this machine's key for its bases.
  ///   - date: until when an item that the merge deletes can be restored here.
  package borrowing func mergeHeads<Result: Sendable>(
    _ key: MergeKey, keptUntil date: Date? = .distantFuture, _ body: (inout HeadMerge) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try MergeTurn.take { () throws(StoreError) in
      try core.committing { (vault) throws(StoreError) in
        try HeadMerge.commit(to: vault, key, keptUntil: date, body)
      }
    }
  }

  /// The same up to the commit, which is not made.
  package borrowing func rehearseHeads(
    _ key: MergeKey, keptUntil date: Date? = .distantFuture, _ body: (inout HeadMerge) throws(StoreError) -> Void
  ) throws(StoreError) {
    try MergeTurn.take { () throws(StoreError) in
      try core.run { (vault) throws(StoreError) in
        try HeadMerge.rehearse(in: vault, key, keptUntil: date, body)
      }
    }
  }

  /// The base of this vault as it is.
  ///
  /// - Parameter previous: an earlier base; its pairs that did not change are not read again.
  package borrowing func mergeBase(_ key: MergeKey, from previous: MergeBase? = nil) throws(StoreError) -> MergeBase {
    try core.read { (vault) throws(StoreError) in try CommittedRows(view: vault.view).mergeBase(key, from: previous) }
  }
}
