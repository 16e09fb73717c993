internal import CofferClient
internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import CofferVault
internal import SystemPackage

/// A client's first frame, which names its vault.
struct Greeting: Sendable {
  /// The vault's path at the client; empty for the agent's first, only in questions about the agent.
  var path: String
  /// The expected vault.
  var vault: VaultID?
  /// The oldest commit that the client accepts.
  var leastGeneration: UInt64?
  /// The client's invitations to this vault.
  var invitations: [Invitation] = []
  /// Its identity's invitations, to any vaults.
  var known: [Invitation] = []
  /// Another process that the client claims to work for.
  var behalf: Behalf?

  /// All given ones, and the identity's to this vault.
  func invitations(to vault: VaultID) -> [Invitation] { invitations + known.filter { $0.vault == vault } }
}

/// The limits of a vault to unlock; nil for the agent's own.
struct UnlockTimes: Sendable {
  var idle: Duration?
  var lifetime: Duration?
}

extension FrameWriter {
  mutating func put(_ greeting: Greeting) throws(StoreError) {
    try put(greeting.path)
    try put(greeting.vault?.bytes ?? [])
    try put(greeting.leastGeneration ?? 0)
    for invitations in [greeting.invitations, greeting.known] {
      try put(UInt32(clamping: invitations.count))
      for invitation in invitations { try put(invitation.description) }
    }
    try put(greeting.behalf != nil)
    guard let behalf = greeting.behalf else { return }
    try put(behalf.process)
    try put(behalf.program)
  }

  mutating func put(_ moment: AgentMoment) throws(StoreError) {
    try put(moment.vault?.bytes ?? [])
    try put(moment.generation)
    try put(moment.since)
  }

  mutating func put(_ status: AgentStatus) throws(StoreError) {
    try put(UInt32(bitPattern: status.process))
    try put(status.vault.description)
    try put(status.unlocked?.bytes ?? [])
    try put(status.whyLocked)
    for time in [status.idle, status.lifetime, status.idleLeft, status.lifetimeLeft] { try put(rounded(time)) }
    try put(UInt32(clamping: status.others.count))
    for other in status.others {
      try put(other.vault.description)
      try put(other.id.bytes)
      for time in [other.idleLeft, other.lifetimeLeft] { try put(rounded(time)) }
    }
    try put(UInt32(clamping: status.connections))
    try put(UInt64(clamping: status.unlockedMemory))
  }

  /// Seconds, rounded up: a time that has just begun is whole.
  private func rounded(_ time: Duration) -> UInt64 {
    UInt64(clamping: time.components.seconds) + (time.components.attoseconds > 0 ? 1 : 0)
  }

  mutating func put(_ credentials: borrowing Credentials) throws(StoreError) {
    try put(optional: credentials.passphrase)
    try put(optional: credentials.keyFile)
    try put(optional: credentials.recoveryCode)
    try put(optional: credentials.identity)
  }

  mutating func put(_ times: UnlockTimes) throws(StoreError) {
    // Nobody requests zero, which would mean locked: it stands for the agent's own limit.
    for time in [times.idle, times.lifetime] { try put(UInt64(clamping: time.map { max(1, $0.components.seconds) } ?? 0)) }
  }

  private mutating func put(optional secret: borrowing SecretBytes?) throws(StoreError) {
    switch secret {
    case .some(let secret):
      try put(true)
      try put(secret)
    case .none: try put(false)
    }
  }
}

extension FrameReader {
  mutating func greeting() throws(StoreError) -> Greeting {
    let path = try text()
    let bytes = try plainBytes(limit: 16)
    guard bytes.isEmpty || bytes.count == 16 else { throw Self.malformed("a vault's id has not 16 bytes") }
    let generation: UInt64 = try number()
    return try Greeting(
      path: path, vault: bytes.isEmpty ? nil : VaultID(bytes: bytes), leastGeneration: generation == 0 ? nil : generation,
      invitations: invitations(), known: invitations(), behalf: behalf())
  }

  private mutating func behalf() throws(StoreError) -> Behalf? {
    guard try flag() else { return nil }
    return Behalf(process: try number(), program: try text())
  }

  mutating func moment() throws(StoreError) -> AgentMoment {
    let bytes = try plainBytes(limit: 16)
    guard bytes.isEmpty || bytes.count == 16 else { throw Self.malformed("a vault's id has not 16 bytes") }
    return AgentMoment(vault: bytes.isEmpty ? nil : VaultID(bytes: bytes), generation: try number(), since: try number())
  }

  mutating func optionalMoment() throws(StoreError) -> AgentMoment? { try flag() ? moment() : nil }

  private mutating func invitations() throws(StoreError) -> [Invitation] {
    let count = try count(ofAtLeast: 4)
    guard count <= Invitation.most else { throw Self.malformed("it has more than \(Invitation.most) invitations") }
    var invitations: [Invitation] = []
    for _ in 0..<count { invitations.append(try Invitation(text())) }
    return invitations
  }

  mutating func status() throws(StoreError) -> AgentStatus {
    let process = Int32(bitPattern: try number())
    let path = try text()
    let bytes = try plainBytes(limit: 16)
    return AgentStatus(
      process: process, vault: VaultPlace(path), unlocked: bytes.count == 16 ? VaultID(bytes: bytes) : nil,
      whyLocked: try text(), idle: try seconds(), lifetime: try seconds(), idleLeft: try seconds(), lifetimeLeft: try seconds(),
      others: try others(), connections: Int(try number(UInt32.self)), unlockedMemory: Int(clamping: try number(UInt64.self)))
  }

  private mutating func others() throws(StoreError) -> [AgentStatus.Held] {
    var others: [AgentStatus.Held] = []
    for _ in 0..<(try count(ofAtLeast: 24)) {
      let place = VaultPlace(try text())
      let bytes = try plainBytes(limit: 16)
      guard bytes.count == 16 else { throw Self.malformed("a vault's id has not 16 bytes") }
      others.append(
        AgentStatus.Held(vault: place, id: VaultID(bytes: bytes), idleLeft: try seconds(), lifetimeLeft: try seconds()))
    }
    return others
  }

  private mutating func seconds() throws(StoreError) -> Duration { .seconds(Int64(clamping: try number(UInt64.self))) }

  mutating func unlockTimes() throws(StoreError) -> UnlockTimes {
    func given(_ time: Duration) -> Duration? { time == .zero ? nil : time }
    return UnlockTimes(idle: given(try seconds()), lifetime: given(try seconds()))
  }

  mutating func credentials() throws(StoreError) -> Credentials {
    var credentials = Credentials()
    if try flag() { credentials.passphrase = try secret() }
    if try flag() { credentials.keyFile = try secret() }
    if try flag() { credentials.recoveryCode = try secret() }
    if try flag() { credentials.identity = try secret() }
    return credentials
  }
}
