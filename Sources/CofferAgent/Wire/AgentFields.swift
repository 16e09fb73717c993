internal import CofferClient
internal import CofferMemory
package import CofferPlatform
internal import CofferVault

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

/// A process that a client works for.
package struct Behalf: Sendable, Equatable {
  let process: UInt32
  let program: String

  package init(process: UInt32, program: String) {
    self.process = process
    self.program = program
  }
}

/// A comparable state of the agent's vault.
package struct AgentMoment: Sendable, Equatable {
  /// The unlocked vault; nil if none.
  package var vault: VaultID?
  /// Its last commit.
  package var generation: UInt64 = 0
  /// When the agent last locked or unlocked it, in nanoseconds since boot: a vault locked and unlocked in between differs
  /// too, and the later of two moments is known, even across agents.
  package var since: UInt64 = 0
}

extension Greeting: WireValue {
  func put(in frame: inout FrameWriter) throws(StoreError) {
    try frame.put(path)
    try frame.put(vault?.bytes ?? [])
    try frame.put(leastGeneration ?? 0)
    for invitations in [invitations, known] {
      try frame.put(UInt32(clamping: invitations.count))
      for invitation in invitations { try frame.put(invitation.description) }
    }
    try frame.put(behalf)
  }
  static func read(from fields: inout FrameReader) throws(StoreError) -> Greeting {
    let (path, vault, generation) = (try fields.text(), try fields.vaultID(), try fields.number(UInt64.self))
    return try Greeting(
      path: path, vault: vault, leastGeneration: generation == 0 ? nil : generation, invitations: fields.invitations(),
      known: fields.invitations(), behalf: fields.read())
  }
}

extension Behalf: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) { try frame.put(process, program) }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> Behalf {
    try Behalf(process: fields.number(), program: fields.text())
  }
}

extension AgentMoment: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) {
    try frame.put(vault?.bytes ?? [])
    try frame.put(generation, since)
  }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> AgentMoment {
    try AgentMoment(vault: fields.vaultID(), generation: fields.number(), since: fields.number())
  }
}

extension AgentStatus: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) {
    try frame.put(UInt32(bitPattern: process), vault.description)
    try frame.put(unlocked?.bytes ?? [])
    try frame.put(whyLocked)
    for time in [idle, lifetime, idleLeft, lifetimeLeft] { try frame.put(rounded: time) }
    try frame.put(UInt32(clamping: others.count))
    for other in others {
      try frame.put(other.vault.description)
      try frame.put(other.id.bytes)
      for time in [other.idleLeft, other.lifetimeLeft] { try frame.put(rounded: time) }
    }
    try frame.put(UInt32(clamping: connections), UInt64(clamping: unlockedMemory))
  }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> AgentStatus {
    try AgentStatus(
      process: Int32(bitPattern: fields.number()), vault: VaultPlace(fields.text()), unlocked: fields.vaultID(),
      whyLocked: fields.text(), idle: fields.duration(), lifetime: fields.duration(), idleLeft: fields.duration(),
      lifetimeLeft: fields.duration(), others: fields.others(), connections: Int(fields.number(UInt32.self)),
      unlockedMemory: fields.int())
  }
}

extension UnlockTimes: WireValue {
  // Nobody requests zero, which would mean locked: it stands for the agent's own limit.
  func put(in frame: inout FrameWriter) throws(StoreError) {
    for time in [idle, lifetime] { try frame.put(UInt64(clamping: time.map { max(1, $0.components.seconds) } ?? 0)) }
  }
  static func read(from fields: inout FrameReader) throws(StoreError) -> UnlockTimes {
    func given(_ time: Duration) -> Duration? { time == .zero ? nil : time }
    return UnlockTimes(idle: given(try fields.duration()), lifetime: given(try fields.duration()))
  }
}

extension FrameWriter {
  /// Seconds, rounded up: a time that has just begun is whole.
  fileprivate mutating func put(rounded time: Duration) throws(StoreError) {
    try put(UInt64(clamping: time.components.seconds) + (time.components.attoseconds > 0 ? 1 : 0))
  }

  mutating func put(_ credentials: borrowing Credentials) throws(StoreError) {
    try put(optional: credentials.passphrase)
    try put(optional: credentials.keyFile)
    try put(optional: credentials.recoveryCode)
    try put(optional: credentials.identity)
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
  fileprivate mutating func vaultID() throws(StoreError) -> VaultID? { try id().map(VaultID.init(bytes:)) }

  fileprivate mutating func invitations() throws(StoreError) -> [Invitation] {
    let count = try count(ofAtLeast: 4)
    guard count <= Invitation.most else { throw .malformed("it has more than \(Invitation.most) invitations") }
    var invitations: [Invitation] = []
    for _ in 0..<count { invitations.append(try Invitation(text())) }
    return invitations
  }

  fileprivate mutating func others() throws(StoreError) -> [AgentStatus.Held] {
    var others: [AgentStatus.Held] = []
    for _ in 0..<(try count(ofAtLeast: 24)) {
      let place = VaultPlace(try text())
      guard let id = try vaultID() else { throw .malformed("a vault's id has not 16 bytes") }
      others.append(AgentStatus.Held(vault: place, id: id, idleLeft: try duration(), lifetimeLeft: try duration()))
    }
    return others
  }

  /// Of seconds.
  fileprivate mutating func duration() throws(StoreError) -> Duration { .seconds(Int64(clamping: try number(UInt64.self))) }

  mutating func credentials() throws(StoreError) -> Credentials {
    var credentials = Credentials()
    if try flag() { credentials.passphrase = try secret() }
    if try flag() { credentials.keyFile = try secret() }
    if try flag() { credentials.recoveryCode = try secret() }
    if try flag() { credentials.identity = try secret() }
    return credentials
  }
}
