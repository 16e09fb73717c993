internal import ArgumentParser
internal import Coffer
internal import CofferAgent
internal import CofferFormats
internal import CofferPlatform
internal import CofferSync
internal import CofferTerminal
internal import CofferVault
internal import SystemPackage

struct VaultSyncCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "sync", abstract: "Join this vault with those of your other machines, over a store of files.",
    discussion: """
      REMOTE is a folder, a git address, rclone:REMOTE:PATH or command:PROGRAM, and gets only sealed files. It is remembered: \
      later, 'coffer vault sync' alone goes to each. Another machine gets the vault by 'coffer vault clone REMOTE'. A change on \
      one machine reaches the others. If two changed one item, one value stays, and the other becomes a previous version. A \
      remote older than this machine has seen is refused with 66, until you accept it.
      """)

  @Argument(help: "The remote; each that is remembered, unless given.") var remote: String?
  @Flag(help: "Only print the remotes and when they were in step. Needs no secret.") var status = false
  @Flag(help: "Only print what would happen.") var dryRun = false
  @Flag(help: "Take an older remote too, and put all files of this vault again.") var accept = false
  @Flag(help: "Remove files at the remote that no machine needs any more.") var compact = false
  @Flag(help: "Forget the remote on this machine. Its files stay.") var forget = false
  @Option(help: ArgumentHelp("Of two keys of the vault, go on with this one.", valueName: "mark")) var takeKey: String?
  @Option(help: ArgumentHelp("Whether the agent syncs with it by itself.", valueName: "on|off")) var auto: Switch?
  @Option(name: .customLong("as"), help: .machineName) var machine: String?
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    let modes = [
      ("--status", status), ("--dry-run", dryRun), ("--accept", accept), ("--compact", compact), ("--forget", forget),
      ("--take-key", takeKey != nil), ("--auto", auto != nil),
    ]
    let given = modes.filter(\.1).map(\.0)
    guard given.count < 2 else { throw ValidationError("give \(given[0]) or \(given[1]), not both") }
    guard remote != nil || !(accept || forget || takeKey != nil) else {
      throw ValidationError("name the remote that \(given[0]) is for")
    }
  }

  func perform(_ context: Context) throws {
    try context.checkIsNoMirror()
    let locked = try vault(context)
    let remotes = try Remotes(of: locked.id, named: remote, context)
    if status { return try remotes.show(locked) }
    if forget { return try remotes.forget() }
    if let auto { return try remotes.setAutomatic(auto == .on) }
    guard !remotes.all.isEmpty else {
      throw Failure.usage(
        "no remote is remembered for this vault", try: "coffer vault sync REMOTE, such as git@host:ada/vault.git")
    }
    if compact { return try remotes.compact(context.unlockedVault()) }
    var sync = SyncOptions(machine: machine ?? MachineName.host)
    (sync.accepts, sync.isTrial, sync.takesKey, sync.keptUntil) = (accept, dryRun, takeKey, Settings(context).keptUntil)
    try remotes.run(sync, over: locked)
  }

  private func vault(_ context: Context) throws -> LockedVault {
    do { return try context.lockedVault() } catch let error as StoreError where error.kind == .noVault && remote != nil {
      throw StoreError(
        error.kind, error.what, place: error.place,
        cure: "coffer vault clone REMOTE brings the vault that lies there; coffer init creates a new one")
    }
  }

  enum Switch: String, ExpressibleByArgument, CaseIterable { case on, off }
}

/// The remotes of one vault that a command is about.
private struct Remotes {
  let all: [VaultSync]
  private let vault: VaultID
  private let pins: FilePath
  private let context: Context

  /// - Parameter name: nil for each that this machine remembers.
  init(of vault: VaultID, named name: String?, _ context: Context) throws {
    (self.vault, self.context) = (vault, context)
    pins = context.places.pins
    let names = try name.map { [$0] } ?? VaultSync.remotes(of: vault, pins: pins).map(\.remote)
    let (pins, caches) = (pins, context.places.caches)
    all = try names.map { try VaultSync($0, pins: pins, caches: caches) }
  }

  // MARK: Syncing

  /// Goes to each, though another one fails.
  func run(_ options: SyncOptions, over locked: LockedVault) throws {
    var (reports, failures) = ([SyncAnswer](), [any Error]())
    // A person's decision needs the secret.
    let isDecided = options.accepts || options.takesKey != nil
    var waiting: [VaultSync] = isDecided ? all : []
    let agent = isDecided ? nil : try context.agent()
    for sync in isDecided ? [] : all {
      do {
        context.spin("Syncing with \(sync.remote)")
        defer { StatusLine.clear() }
        // In step, by the memory of this machine: no secret is needed.
        if try sync.isInStep(locked) {
          reports.append(SyncAnswer(sync.remote))
        } else if let agent, let report = try sync.byAgent(agent, options) {
          reports.append(SyncAnswer(report))
        } else {
          waiting.append(sync)
        }
      } catch { failures.append(error) }
    }
    if !waiting.isEmpty {
      let vault = try context.unlockedVault()
      for sync in waiting {
        do { reports.append(SyncAnswer(try run(sync, vault, options))) } catch { failures.append(error) }
      }
    }
    if context.json {
      try Output.json(["remotes": reports.map(\.json)])
    } else {
      for report in reports { try report.tell(isTrial: options.isTrial, context) }
      if options.isTrial { context.note("nothing was changed (--dry-run)") }
    }
    for failure in failures.dropFirst() { if let other = Failure.of(failure) { Output.message(other) } }
    if let first = failures.first { throw first }
  }

  /// Asks for the secret that opens the vault there, if it is another one since another machine changed it.
  private func run(_ sync: VaultSync, _ vault: borrowing UnlockedVault, _ options: SyncOptions) throws -> SyncReport {
    context.spin("Syncing with \(sync.remote)")
    defer { StatusLine.clear() }
    do throws(StoreError) { return try sync.run(vault, options) } catch {
      guard error.kind == .locked, Person(context) != nil else { throw error }
    }
    StatusLine.clear()
    context.note("another machine changed the secret: give the new one")
    let question = "New passphrase of \(context.places.vault.short)"
    return try Opening(sync.stated().slots, of: context.places.vault, context, asking: question).open { credentials, _ in
      try sync.run(vault, options, with: credentials)
    }
  }

  // MARK: Memory

  func forget() throws {
    for sync in all {
      guard try sync.forget(vault) else {
        throw StoreError(
          .notFound, "this machine does not remember the remote", place: sync.remote, cure: "coffer vault sync --status")
      }
      if context.json {
        try Output.json(["forgotten": sync.remote])
      } else {
        context.told("forgot \(sync.remote); its files stay there")
      }
    }
  }

  func setAutomatic(_ isOn: Bool) throws {
    for sync in all {
      try sync.setAutomatic(isOn, for: vault)
      if context.json {
        try Output.json(AutoAnswer(remote: sync.remote, automatic: isOn))
      } else {
        context.told(
          isOn ? "the agent syncs with \(sync.remote) while it holds the vault" : "the agent leaves \(sync.remote) alone")
      }
    }
  }

  private struct AutoAnswer: Encodable { let remote: String, automatic: Bool }

  func compact(_ vault: borrowing UnlockedVault) throws {
    for sync in all {
      let removed = try sync.compact(vault)
      if context.json {
        try Output.json(Removed(remote: sync.remote, heads: removed.heads, groups: removed.groups))
      } else {
        context.told("removed \(counted(removed.heads + removed.groups, "file")) of earlier puts at \(sync.remote)")
      }
    }
  }

  private struct Removed: Encodable { let remote: String, heads: Int, groups: Int }

  func show(_ vault: LockedVault) throws {
    let remotes = try all.compactMap { try $0.status(of: vault) }
    if context.json { return try Output.json(["remotes": remotes.map(StatusAnswer.init)]) }
    let time = LocalTime()
    for remote in remotes {
      let waiting = remote.commitsToPut.flatMap { $0 == 0 ? nil : "; \(counted(Int(clamping: $0), "change")) since" } ?? ""
      let automatic = remote.isAutomatic ? ", automatic" : ""
      try Output.line("\(Printable.line(remote.remote))  in step \(time.ago(remote.synced))\(automatic)\(waiting)")
      try Output.line(
        Columns.align(
          remote.machines.map { machine in
            [
              "  " + Printable.line(machine.name ?? machine.id), "generation \(machine.generation)",
              machine.put.map(time.ago) ?? "",
            ]
          }))
    }
    if remotes.isEmpty { context.note("no remote is remembered for this vault") }
  }

  private struct StatusAnswer: Encodable {
    let remote: String, synced: String, automatic: Bool, commitsToPut: UInt64?, machines: [Machine]
    struct Machine: Encodable { let id: String, name: String?, generation: UInt64, put: String? }

    init(_ status: SyncStatus) {
      (remote, synced, automatic) = (status.remote, Moment.text(status.synced), status.isAutomatic)
      commitsToPut = status.commitsToPut
      machines = status.machines.map {
        Machine(id: $0.id, name: $0.name, generation: $0.generation, put: $0.put.map(Moment.text))
      }
    }
  }
}

/// The effects of a sync with one remote.
private struct SyncAnswer {
  let json: JSON
  private let report: SyncReport?

  struct JSON: Encodable {
    let remote: String, taken: [Taken], put: UInt64?, items: Int?, passedOver: Int?, strangers: Int?
  }
  struct Taken: Encodable {
    let machine: String, changes: MergePlanText.Answer, slots: [Slot]?

    init(_ taken: SyncReport.Taken) {
      (machine, changes) = (taken.machine, MergePlanText(report: taken.changes).answer)
      let slots = taken.changes.slots.map {
        Slot(id: $0.slot.id.description, kind: "\($0.slot.kind)", label: $0.label, change: $0.kind.rawValue)
      }
      self.slots = slots.isEmpty ? nil : slots
    }
  }
  struct Slot: Encodable { let id: String, kind: String, label: String, change: String }

  private static func words(_ change: SlotChange, _ machine: String) -> String {
    let slot = change.label.isEmpty ? "\(change.slot.kind)" : "\(change.slot.kind) '\(Printable.line(change.label))'"
    let machine = Printable.line(machine)
    return switch change.kind {
    case .added: "\(machine) added a way to unlock the vault: \(slot)"
    case .removed: "\(machine) removed a way to unlock the vault: \(slot)"
    case .changed: "\(machine) changed a way to unlock the vault: \(slot)"
    case .undone: "no longer opens the vault: \(slot), which was added or changed here; add it again"
    case .removedAgain: "removed again: \(slot), which \(machine)'s key was for; the vault has a new key"
    }
  }

  /// A remote with which nothing had to be done.
  init(_ remote: String) {
    json = JSON(remote: remote, taken: [], put: nil, items: nil, passedOver: nil, strangers: nil)
    report = nil
  }

  init(_ report: SyncReport) {
    self.report = report
    json = JSON(
      remote: report.remote,
      taken: report.taken.map(Taken.init),
      put: report.put, items: report.items, passedOver: report.passedOver == 0 ? nil : report.passedOver,
      strangers: report.strangers == 0 ? nil : report.strangers)
  }

  func tell(isTrial: Bool, _ context: Context) throws {
    let remote = Printable.line(json.remote)
    guard let report else { return try Output.line("in step: \(remote)") }
    for taken in report.taken {
      for change in taken.changes.slots { context.note(Self.words(change, taken.machine)) }
      let plan = MergePlanText(report: taken.changes)
      guard !plan.counts.isEmpty else { continue }
      try Output.line("\(isTrial ? "would take" : "taken") from \(Printable.line(taken.machine)): \(plan.counts)")
      for remark in plan.remarks { context.note(remark) }
    }
    if let put = report.put {
      let what = isTrial ? "would put: " : "put: \(counted(report.items, "item")), "
      try Output.line("\(what)generation \(put), at \(remote)")
    } else if !isTrial || report.taken.isEmpty {
      try Output.line("in step: \(remote)")
    }
    if report.passedOver > 0 {
      context.note("a machine that still has an older key of the vault follows at its next sync")
    }
    if report.strangers > 0 {
      context.note("passed over \(counted(report.strangers, "file")) at \(remote): of another program, or not whole")
    }
  }
}

extension VaultSync {
  /// Nil where the agent cannot, as for the first sync with a remote.
  fileprivate func byAgent(_ agent: AgentClient, _ options: SyncOptions) throws -> SyncReport? {
    do throws(StoreError) {
      return try agent.sync(with: remote, as: options.machine, keptUntil: options.keptUntil, isTrial: options.isTrial)
    } catch {
      guard [.notFound, .locked, .unsupported].contains(error.kind) else { throw error }
      return nil
    }
  }
}

enum MachineName {
  /// This machine's name, unless one is given.
  static var host: String {
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0, let text = String(validating: name.prefix { $0 != 0 }, as: UTF8.self),
      let host = text.split(separator: ".").first
    else { return "machine" }
    return String(host)
  }
}
