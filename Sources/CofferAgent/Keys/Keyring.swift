internal import CofferKeys
internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import CofferVault
internal import CofferVaultFormat
internal import FoundationEssentials
internal import Synchronization

/// The keys of one vault while it is unlocked: those in it, and those that `ssh-add` brought. It decides on each use.
///
/// It believes no client: it verifies each binding itself, and reads each rule from the vault.
final class Keyring: Sendable {
  private struct State {
    var table = KeyTable()
    var approvals = Approvals()
  }

  private let state = Mutex(State())
  let uses: UsesLog
  private let clock: AgentClock

  init(uses: UsesLog, clock: AgentClock = .machine) { (self.uses, self.clock) = (uses, clock) }

  /// At an unlock: keys that were hidden are listed again.
  func begin() { state.withLock { $0.table.show() } }

  /// At the lock: wipes the keys that `ssh-add` brought, and ends all questions and approvals.
  func end(in vault: borrowing UnlockedVault) {
    state.withLock { state in
      state.approvals.endAll(now: clock.sinceBoot())
      recordRefused(&state, vault)
      state = State()
    }
  }

  /// Wipes keys and ends questions whose time is over.
  func lapse(in vault: borrowing UnlockedVault) {
    state.withLock { state in
      state.table.lapse(now: clock.sinceBoot())
      state.approvals.end(before: clock.sinceBoot())
      recordRefused(&state, vault)
    }
  }

  /// Writes the rows of questions that ended without their askers.
  private func recordRefused(_ state: inout State, _ vault: borrowing UnlockedVault) {
    let hasVaultKeys = state.table.hasVaultKeys
    do throws(StoreError) {
      try state.approvals.takeRefused { (row) throws(StoreError) in
        if hasVaultKeys { try uses.record(row, in: vault) }
      }
    } catch {
      // The next request tries again, and each use needs the log too.
    }
  }

  /// Those that may be used through the sessions. Those bound to the way come first, so that a server refuses none before;
  /// without a way, those that need none.
  ///
  /// - Throws: ``StoreError`` `.refused` for bindings that do not verify.
  func list(for bindings: [SessionBinding], in vault: borrowing UnlockedVault) throws(StoreError) -> [KeyListing] {
    let route = try Route(bindings)
    let all = try refreshed(vault) { (state) in state.table.all }
    let shown = all.filter { $0.isShown(to: route) }
    return (shown.filter { $0.isFirst(for: route) } + shown.filter { !$0.isFirst(for: route) }).map { key in
      KeyListing(blob: key.blob, comment: key.comment.spelledOut())
    }
  }

  /// Signs or unwraps, or asks first.
  ///
  /// - Parameter client: the process at the socket; nil if it is gone, or of another namespace.
  /// - Returns: 0 bytes for a stanza that is for another identity.
  /// - Throws: ``StoreError`` `.notFound` for an unknown key; `.refused` for a use that its rules or a person forbid; the errors
  ///   of the log of uses, without whose row there is no use; those of the key.
  func use(_ use: KeyUse, by client: ProcessFacts?, in vault: borrowing UnlockedVault) throws(StoreError) -> KeyOutcome {
    try refreshed(vault) { (state) throws(StoreError) in
      // Programs other than Coffer's own ask for themselves.
      let asker = client.flatMap { client in
        client.process != use.asker && client.isOwnProgram ? ProcessFacts(of: Int32(clamping: use.asker)) : client
      }
      var row = UseRow(time: Date(), kind: .refused, item: nil, name: "").by(asker, client: client)
      do throws(StoreError) { return try answer(use, of: asker, &row, &state, in: vault) } catch {
        (row.kind, row.detail) = (.refused, error.what)
        if state.table.hasVaultKeys { try uses.record(row, in: vault) }
        throw row.name.isEmpty ? error : error.about(key: row.name)
      }
    }
  }

  private func answer(
    _ use: KeyUse, of asker: ProcessFacts?, _ row: inout UseRow, _ state: inout State, in vault: borrowing UnlockedVault
  ) throws(StoreError) -> KeyOutcome {
    guard let held = state.table[use.blob] else {
      throw StoreError(.notFound, "there is no such key", cure: "list the keys again, or unlock the vault that has it")
    }
    (row.name, row.item) = (held.comment, held.item?.id)
    // The laxer rules would win.
    let items = held.item == nil ? [] : state.table.items(of: held.key).compactMap(\.item?.name.description)
    guard items.count < 2 else { throw .useRefused("several items have its public half: \(items.joined(separator: ", "))") }
    let purpose = try use.purpose()
    guard held.isAge == (purpose == nil) else { throw .useRefused("the key is of another kind than its use") }
    guard !held.isExpired else { throw StoreError(.expired, "the key has expired", cure: "give it a later expiry, or renew it") }
    let route = try Route(use.bindings)
    row.hostKey = route.servers.last?.fingerprint ?? ""
    let rules = try held.rules.get()
    let names = try rules.admit(purpose, through: route)
    let (kind, detail, words) = purpose?.shown ?? (kind: .unwrap, detail: "", words: "unwrap")
    (row.host, row.detail) = (names.joined(separator: " > "), detail)
    // Whether a stanza is for the identity comes before a question about it.
    let unwrapped = held.isAge ? try perform(use.work, with: held, in: vault) : nil
    if let unwrapped, unwrapped.bytes.count == 0 { return .done(unwrapped) }
    if rules.asks(for: route) {
      let subject = Approvals.Subject(key: .init(held), purpose: words, user: kind == .login ? detail : nil, hosts: names)
      let asked = Approvals.Case(
        subject: subject, digest: use.work.digest, asker: asker, needsPassphrase: rules.ask == .passphrase, row: row)
      switch try state.approvals.verdict(on: asked, ticket: use.ticket, now: clock.sinceBoot()) {
      case .asks(let question): return .asks(question)
      case .approved(let words): row.approval = words
      }
    }
    let result = if let unwrapped { unwrapped } else { try perform(use.work, with: held, in: vault) }
    row.kind = kind
    if state.table.hasVaultKeys { try uses.record(row, in: vault) }
    return .done(result)
  }

  /// Answers a question, or approves ahead of any.
  ///
  /// - Parameter isProven: whether the right passphrase came with it.
  /// - Throws: ``StoreError`` `.notFound` for a question that is over and an unknown key; `.refused` without a passphrase that
  ///   the key needs; `.unsupported` for a time or job that cannot be.
  func allow(_ approval: KeyApproval, isProven: Bool, in vault: borrowing UnlockedVault) throws(StoreError) {
    let now = clock.sinceBoot()
    try refreshed(vault) { (state) throws(StoreError) in
      switch approval {
      case .yes(let ticket, let scope, _): try state.approvals.answer(ticket, scope, isProven: isProven, now: now)
      case .no(let ticket): try state.approvals.answer(ticket, nil, isProven: isProven, now: now)
      case .ahead(let name, let seconds, _):
        guard let held = state.table.key(of: name) else {
          throw StoreError(.notFound, "the item is no key", key: name.description, cure: "list the keys")
        }
        let rules = try held.rules.get()
        guard isProven || rules.ask != .passphrase else { throw .passphraseNeeded(held.comment) }
        let any = Approvals.Approval(key: .init(held), isProven: isProven)
        try state.approvals.approve(any, for: .seconds(Int64(seconds)), now: now)
      }
    }
  }

  /// See ``KeyTable/drop(_:)``.
  func drop(_ blob: [UInt8]?, in vault: borrowing UnlockedVault) throws(StoreError) -> Int {
    try refreshed(vault) { (state) in state.table.drop(blob) }
  }

  /// The newest rows of the log of uses, oldest first, nil for all; the open questions; why rows are missing, if some are.
  func uses(most: Int?, in vault: borrowing UnlockedVault) throws(StoreError) -> [UseEntry] {
    let questions = state.withLock { state in
      defer { recordRefused(&state, vault) }
      return state.approvals.open(now: clock.sinceBoot())
    }
    // Without rows a waiting person asks often, and of no damaged log.
    let rows = most == 0 ? [] : try uses.read(most: most, in: vault)
    let note = uses.note.map { [UseEntry.note($0)] } ?? []
    return rows.map { .row($0) } + questions.map { .question($0) } + note
  }

  /// Requires that a key is new to the vault, and not too many.
  func checkRoom(for half: [UInt8], in vault: borrowing UnlockedVault) throws(StoreError) {
    let (isFull, same) = try refreshed(vault) { (state) in (state.table.isFull, state.table.items(of: half).first) }
    if let same {
      throw StoreError(
        .alreadyExists, "the vault has the key under this name", key: same.item?.name.description,
        cure: "use that one, or delete it first")
    }
    guard !isFull else {
      throw StoreError(.unsupported, "a vault has \(KeyTable.mostKeys) keys at most", cure: "delete one, or use another vault")
    }
  }

  func load(_ fields: SecretForm, _ isConstrained: Bool, in vault: borrowing UnlockedVault) throws(StoreError) -> String {
    let key = try LoadedKey(fields.bytes, isConstrained: isConstrained, now: clock.sinceBoot())
    try refreshed(vault) { (state) throws(StoreError) in try state.table.load(key) }
    return key.line
  }

  private func refreshed<Result: Sendable>(
    _ vault: borrowing UnlockedVault, _ body: (inout State) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try state.withLock { (state) throws(StoreError) in
      try state.table.refresh(from: vault, now: clock.sinceBoot())
      defer { recordRefused(&state, vault) }
      return try body(&state)
    }
  }
}

/// Private operations.
extension Keyring {
  private func perform(
    _ work: KeyWork, with held: HeldKey, in vault: borrowing UnlockedVault
  ) throws(StoreError) -> SecretForm {
    switch held.source {
    case .loaded(let loaded): return try Self.sign(work, loaded.key)
    case .item(let listed):
      return try vault.withKey(listed.name) { (value, item) throws(StoreError) in
        // The rules were read with the listing.
        guard item.id == listed.id, item.revision == listed.revision else {
          throw StoreError(.conflict, "the key was changed just now", cure: "try again")
        }
        if held.isAge { return try Self.unwrap(work, AgeIdentity(text: value), held.key) }
        let key = try SSHPrivateKey(file: value, isSealed: true)
        guard key.publicKey.blob == held.key else { throw .foreignHalf }
        return try Self.sign(work, key)
      }
    }
  }

  private static func sign(_ work: KeyWork, _ key: borrowing SSHPrivateKey) throws(StoreError) -> SecretForm {
    guard case .sign(let data, let flags) = work else { throw .useRefused("a key of SSH does not unwrap") }
    let signature = try data.withBytes { (data) throws(StoreError) in try key.sign(data, flags: flags) }
    return try SecretForm(signature.guarded())
  }

  private static func unwrap(
    _ work: KeyWork, _ identity: borrowing AgeIdentity, _ recipient: [UInt8]
  ) throws(StoreError) -> SecretForm {
    guard case .unwrap(let share, let body) = work else { throw .useRefused("an identity of age's does not sign") }
    guard identity.recipient.text.utf8.elementsEqual(recipient) else { throw .foreignHalf }
    let fileKey = try share.withBytes { (share) throws(StoreError) in
      try body.withBytes { (body) throws(StoreError) in try identity.unwrap(share: share, body: body) }
    }
    guard let fileKey else { return SecretForm(try [UInt8]().guarded()) }
    return SecretForm(fileKey)
  }
}

extension KeyWork {
  fileprivate var digest: Digest32 {
    switch self {
    case .sign(let data, _): PlainHash.digest(data)
    case .unwrap(let share, let body): PlainHash.digest(share + body)
    }
  }
}

extension [UInt8] {
  func guarded() throws(StoreError) -> SecretBytes {
    try withBytes { (raw) throws(StoreError) in try .copy(of: raw) }
  }
}
