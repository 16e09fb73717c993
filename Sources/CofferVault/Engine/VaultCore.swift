internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows
internal import Synchronization

/// Admits one thread at a time to an open vault, and none once closed. ``read(about:_:)`` and ``write(about:with:_:)`` run
/// one transaction each, over a current, verified state.
final class VaultCore: Sendable {
  let place: VaultPlace
  let id: VaultID
  let options: VaultOptions
  let header: VaultHeader
  private let vault: Mutex<OpenVault?>
  private let process = getpid()

  init(_ vault: sending OpenVault) {
    place = vault.view.place
    id = vault.view.id
    header = vault.view.header
    options = vault.options
    self.vault = Mutex(vault)
  }

  /// - Parameter name: the item concerned, if any.
  func read<Result: Sendable>(
    about name: ItemName? = nil, _ body: (OpenVault) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try run { (vault) throws(StoreError) in
      try vault.items.announce(name, writing: false)
      return try vault.read(body)
    }
  }

  /// - Parameters:
  ///   - name: the item concerned, if any.
  ///   - companion: writes of another store in the same transaction.
  func write<Result: Sendable>(
    about name: ItemName? = nil, with companion: (any CompanionWrites)? = nil,
    _ body: (OpenVault, inout Change) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try committing { (vault) throws(StoreError) in
      try vault.items.announce(name, writing: true)
      if let companion {
        vault.view.database.accompany(with: companion)
        // A write that fails before it begins leaves nothing to the next one.
        defer { vault.view.database.accompany(with: nil) }
        return try vault.write(body)
      }
      return try vault.write(body)
    }
  }

  /// The same, but another writer may make the commit. `body` may run twice, and changes nothing else.
  func writeOrQueue<Result: Sendable>(
    about name: ItemName? = nil, _ body: (OpenVault, inout Change) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try committing { (vault) throws(StoreError) in
      try vault.items.announce(name, writing: true)
      return try vault.writeOrQueue(about: name, body)
    }
  }

  /// Runs `body`, which makes one commit.
  func committing<Result: Sendable>(_ body: (OpenVault) throws(StoreError) -> Result) throws(StoreError) -> Result {
    // A commit waits for the disk.
    try Waiting.refuse(at: place.description)
    let timing = Measure.begin(.vaultCommit)
    defer { timing?.end() }
    return try run(body)
  }

  func rehearse(_ body: (OpenVault, inout Change) throws(StoreError) -> Void) throws(StoreError) {
    try run { (vault) throws(StoreError) in try vault.rehearse(body) }
  }

  /// Runs `body`, which has its own transactions, over the current vault.
  func refreshed<Result: Sendable>(_ body: (OpenVault) throws(StoreError) -> Result) throws(StoreError) -> Result {
    try run { (vault) throws(StoreError) in
      try vault.refreshNow()
      return try body(vault)
    }
  }

  /// Runs `body` outside any transaction.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/closed`` after ``close()``, ``/CofferPlatform/StoreError/Kind/reentrant``
  ///   inside an update closure.
  func run<Result: Sendable>(_ body: (OpenVault) throws(StoreError) -> Result) throws(StoreError) -> Result {
    try Reentrancy.check(place.description)
    return try vault.withLock(at: place.description) { (vault) throws(StoreError) in
      guard let open = vault else {
        throw StoreError(.closed, "the vault was locked", place: place.description, cure: "unlock it again")
      }
      defer { if open.view.isOver { vault = nil } }
      return try body(open)
    }
  }

  /// A forked child has no keys, and its connection belongs to the parent.
  var isInherited: Bool { getpid() != process }

  var isOpen: Bool { vault.withLock { $0 != nil } }

  /// Waits for the running call and removes bytes still due from the file. The keys are wiped as their memory is freed.
  func close() {
    vault.withLock { (vault) in
      if !isInherited, let open = vault { open.oldBytes.removeOwed(from: open) }
      vault = nil
    }
  }
}
