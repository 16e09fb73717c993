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
  ///   - items: what to add, items and fields in any order; a name given twice is refused.
  ///   - duplicates: what becomes of an item whose name is taken.
  ///   - keeping: how many former contents a new item keeps from now on.
  ///   - isTrial: only look what would happen.
  ///   - progress: told how many items are sealed, before each next one.
  /// - Throws: `StoreError` `.alreadyExists` (named, with ``DuplicatePolicy/refuse``), `.ambiguous` (a name given twice),
  ///   `.tooLarge`, `.invalidName`, and what writing throws; nothing has changed then, unless it is `.outcomeUnknown`.
  public borrowing func add(
    _ items: [ImportedItem], duplicates: DuplicatePolicy = .refuse, keeping: Int = 0, isTrial: Bool = false,
    progress: (Int) -> Void = { _ in }
  ) throws(StoreError) -> ImportReport {
    guard !isTrial else {
      return try core.read { (vault) throws(StoreError) in try vault.items.transfer.plan(items, duplicates) }
    }
    return try core.write { (vault, change) throws(StoreError) in
      let report = try vault.items.transfer.plan(items, duplicates)
      let kept = Set(report.kept)
      // A field can be made once its item is there.
      let ordered = items.filter(\.name.field.isEmpty) + items.filter { !$0.name.field.isEmpty }
      for (index, item) in ordered.enumerated() where !kept.contains(item.name) {
        progress(index)
        try vault.items.transfer.adopt(item, keeping: RecordLimits.history(keeping), &change)
      }
      return report
    }
  }

  /// Lends each item with its value to `body`, expired ones too, by name: for an export.
  ///
  /// - Parameters:
  ///   - withFields: whether each field is lent too, after its item.
  ///   - withoutValue: is called for an item that has none, which another program may have made; Coffer's own always have one.
  ///   - body: is called with each other item and its value.
  /// - Throws: `StoreError` `.damaged` for an item without a value, which names it, where nobody asked to be told of it;
  ///   `.conflict` for one that was deleted meanwhile; what the closures throw.
  public borrowing func forEachItem(
    withFields: Bool = false,
    withoutValue: ((VaultItem) throws -> Void)? = nil, _ body: (VaultItem, SecretForm) throws -> Void
  ) throws {
    let items = try core.read { (vault) throws(StoreError) in try vault.items.list(service: nil, withFields: withFields) }
    for item in items {
      let form = try core.read { (vault) throws(StoreError) in
        try vault.items.form(item.name)
      }
      guard let form else {
        throw StoreError(
          .conflict, "the item was deleted during the export", key: item.name.description, place: place.description,
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

  /// What is stored under `names`, of one moment.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/tooLarge(limit:)`` for values of more than `mostBytes` together.
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
            .tooLarge(limit: mostBytes), "the values asked for have more bytes together than are handed out at once",
            place: vault.view.place.description, cure: "ask for fewer at once, or unlock the vault in this process")
        }
        contents.append(content)
      }
      return contents
    }
  }

  /// Writes a new vault to `target` that holds the items of this one with their fields, or those of some services, as they are at
  /// this moment, and opens with `credentials`: with no key, slot or id of this vault, and no former content of an item. The
  /// items keep their own ids.
  ///
  /// The file is for its owner alone, complete once it has its name; its folder may be any that this user can write. Of a place
  /// on a server this machine remembers the new vault, where this one's options name a folder of pins.
  ///
  /// - Parameters:
  ///   - target: where the new vault will be.
  ///   - services: whose items; nil for all.
  ///   - credentials: what will open the new vault.
  ///   - cost: the Argon2id cost of a passphrase.
  ///   - label: a name for its slot.
  /// - Returns: how many items it holds.
  /// - Throws: `StoreError` `.alreadyExists`, `.notFound` (a service without items), and what creating a vault throws; nothing is
  ///   left behind then.
  public borrowing func export(
    to target: VaultPlace, services: [String]? = nil, with credentials: consuming Credentials, cost: PassphraseCost = .standard,
    label: String = ""
  ) throws(StoreError) -> Int {
    try ExportedVault.make(at: target, of: place, with: credentials, cost: cost, label: label, pins: core.options.pins) {
      (made) throws(StoreError) in
      try core.read { (vault) throws(StoreError) in try vault.items.transfer.copyItems(of: services, to: made) }
    }
  }

  /// Brings `file`, the mirror of this vault on this machine, up to the vault's newest commit, or makes it: an ordinary vault
  /// file with the same sealed rows, of one commit, which the same slots open. ``/CofferVaultRows/VaultPlace/mirror(_:)`` reads
  /// it while the server cannot be reached.
  ///
  /// The copy is verified throughout before it takes the mirror's place, all at once; until then, and after an error, the mirror
  /// is as it was. This machine remembers of which commit it is. A mirror that is whole and of the newest commit is not written
  /// again.
  ///
  /// ```swift
  /// let vault = try LockedVault.open("postgresql://db.example.com/team#main", options: options).unlock(with: credentials)
  /// try vault.mirror(to: "/home/ada/team.mirror")
  /// let offline = try LockedVault.open(.mirror("/home/ada/team.mirror"), options: options)
  /// ```
  ///
  /// - Parameters:
  ///   - file: the mirror, in a folder that is this user's alone. Nothing is replaced there but a mirror of this vault that this
  ///     machine made.
  ///   - progress: called with how many records are copied.
  /// - Throws: `StoreError` `.rolledBack` and `.forked` for a vault that is older than the mirror, or another history;
  ///   `.replaced` for the mirror of another vault; `.alreadyExists` for what is no mirror of this machine's; `.unsupported` for
  ///   a vault in a file; `.incomplete` when the options name no folder of pins; `.inUse` where a program has the mirror open as
  ///   a vault; `.busy`, `.noSpace`, `.denied`, and what reading the vault throws.
  @discardableResult
  public borrowing func mirror(
    to file: FilePath, progress: (Int, Int) -> Void = { _, _ in }
  ) throws(StoreError) -> MirrorReport {
    try core.run { (vault) throws(StoreError) in try Mirroring(of: vault, to: file).run(progress) }
  }

  /// Does what ``mirror(to:progress:)`` does at once, whenever another machine has committed, and each `interval`, until the
  /// subscription ends or the vault is locked. A server that goes away is waited for. A tenth of the time is spent on it, unless
  /// one refresh takes longer than six seconds.
  ///
  /// - Parameters:
  ///   - file: the mirror.
  ///   - interval: how often the server is asked of whose commits nothing is heard: it may keep that to itself.
  ///   - told: is called after each refresh, with its error where it failed; on another thread.
  /// - Throws: `StoreError` `.unsupported` for a vault in a file; `.unreachable`, and what connecting to the server throws.
  public borrowing func keepMirror(
    at file: FilePath, lookingEvery interval: Duration = .seconds(60),
    _ told: @escaping @Sendable (Result<MirrorReport, StoreError>) -> Void
  ) throws(StoreError) -> Subscription {
    try MirrorKeeper(core, file: file, lookingEvery: interval, told).start()
  }

  /// Takes over what is newer in `other`: another vault, a copy of this one that went its own way, or a backup. It is not
  /// changed. A copy of this vault must have a key of its history.
  ///
  /// An item or field of both is one that has the same id in both, or else the same name. Of two contents the one stays whose
  /// vault alone knows the other, as a former content of its own; else the one whose value is newer by ``VaultItem/written``,
  /// then by ``VaultItem/modified``, and of one time by its bytes. That is a conflict. The one that loses is kept as a former
  /// content, the newest of those that both had. Where both are the same, the later write gives the times and the id. A rename
  /// there is followed where it is the later one; a content with 64 attributes has no room for the time of it, and
  /// ``MergeReport/undated`` tells which name stays then. What was deleted in one vault stays deleted where it was not changed
  /// later in the other. A deletion is of an id: what has another one is something else, whatever its name. Where that leaves two
  /// items with one name, one of them gets a number behind it. Logins and what else ends with a session are left out.
  ///
  /// Once each of two vaults has merged the other they have the same items, but for what ``MergeReport/leftOut`` names. A second
  /// merge changes nothing. What was removed for good leaves no trace: where the other vault has it, it comes back.
  ///
  /// ```swift
  /// let report = try vault.merge(laptop, keeping: 10)
  /// for conflict in report.conflicts { print(conflict.name, conflict.winner) }
  /// ```
  ///
  /// - Parameters:
  ///   - other: the vault to read.
  ///   - keeping: how many former contents are kept at least of an item or field that is written; 0 for none, nil for as many as
  ///     in either vault.
  ///   - date: until when an item that was deleted there can be brought back here; nil where it goes for good.
  ///   - isTrial: only look what would happen.
  ///   - acceptingOlderKey: whether a copy of this vault under an older key is merged: see ``checkCopy(_:acceptingOlderKey:)``.
  ///   - isLeftOut: whether an item of either vault takes no part.
  ///   - progress: told how many items were compared, and of how many.
  /// - Throws: what reading `other`, ``checkCopy(_:acceptingOlderKey:)`` and writing here throw; nothing has changed then, unless
  ///   it is `.outcomeUnknown`.
  public borrowing func merge(
    _ other: borrowing UnlockedVault, keeping: Int? = nil, keptUntil date: Date? = .distantFuture, isTrial: Bool = false,
    acceptingOlderKey: Bool = false, leavingOut isLeftOut: (VaultItem) -> Bool = { _ in false },
    progress: (Int, Int) -> Void = { _, _ in }
  ) throws(StoreError) -> MergeReport {
    if let keeping { _ = try RecordLimits.history(keeping) }
    return try MergeTurn.take { () throws(StoreError) in
      try other.core.read { (theirs) throws(StoreError) in
        let other = try MergeSide(theirs.items, leavingOut: isLeftOut)
        guard !isTrial else {
          return try core.read { (ours) throws(StoreError) in
            try ours.view.checkCopy(theirs.view, acceptingOlderKey)
            return try MergePlan(MergeSide(ours.items, leavingOut: isLeftOut), other, keeping: keeping, progress: progress).report
          }
        }
        return try core.write { (ours, change) throws(StoreError) in
          try ours.view.checkCopy(theirs.view, acceptingOlderKey)
          let own = try MergeSide(ours.items, leavingOut: isLeftOut)
          return try Merger(plan: MergePlan(own, other, keeping: keeping, progress: progress), keptUntil: date).run(&change)
        }
      }
    }
  }
}
