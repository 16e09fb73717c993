internal import CofferClient
package import CofferPlatform
package import CofferStorage
internal import CofferVault
package import FoundationEssentials

/// The limits of a request about keys. A message of ``/CofferAgent`` may hold more.
package enum KeyLimits {
  /// Bytes of a message of SSH's agents, as in OpenSSH.
  package static let mostBytes = 256 * 1024
  /// Servers between a user and an agent: as in OpenSSH.
  package static let mostBindings = 16
  /// Bytes of a session's id: a hash of at most 64.
  package static let longestSession = 128
}

/// A server's proof, by its host key, of a session through which requests come. Source: OpenSSH's PROTOCOL.agent,
/// "session-bind@openssh.com".
package struct SessionBinding: ListedWireValue {
  package static var leastBytes: Int { 13 }

  package let hostKey: [UInt8], sessionID: [UInt8], signature: [UInt8]
  /// Whether the session forwards the agent to the server; otherwise it logs in there.
  package let isForwarding: Bool

  package init(hostKey: [UInt8], sessionID: [UInt8], signature: [UInt8], isForwarding: Bool) {
    (self.hostKey, self.sessionID, self.signature, self.isForwarding) = (hostKey, sessionID, signature, isForwarding)
  }

  package func put(in frame: inout FrameWriter) throws(StoreError) {
    for bytes in [hostKey, sessionID, signature] { try frame.put(bytes) }
    try frame.put(isForwarding)
  }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> SessionBinding {
    try SessionBinding(
      hostKey: fields.plainBytes(limit: KeyLimits.mostBytes), sessionID: fields.plainBytes(limit: KeyLimits.longestSession),
      signature: fields.plainBytes(limit: KeyLimits.mostBytes), isForwarding: fields.flag())
  }
}

/// A key that an agent offers: its public half or its certificate, as SSH encodes it.
package struct KeyListing: WireValue {
  package let blob: [UInt8], comment: String

  package func put(in frame: inout FrameWriter) throws(StoreError) {
    try frame.put(blob)
    try frame.put(comment)
  }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> KeyListing {
    try KeyListing(blob: fields.plainBytes(limit: KeyLimits.mostBytes), comment: fields.text())
  }
}

/// A private operation of a key.
package enum KeyWork: WireValue {
  /// - Parameter flags: those of a request to sign. Source: RFC 9987.
  case sign([UInt8], flags: UInt32)
  /// The file key of a stanza of age's: its argument and its body.
  case unwrap(share: [UInt8], body: [UInt8])

  package func put(in frame: inout FrameWriter) throws(StoreError) {
    switch self {
    case .sign(let data, let flags):
      try frame.put(0 as UInt8)
      try frame.put(data)
      try frame.put(flags)
    case .unwrap(let share, let body):
      try frame.put(1 as UInt8)
      try frame.put(share)
      try frame.put(body)
    }
  }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> KeyWork {
    switch try fields.number(UInt8.self) {
    case 0: .sign(try fields.plainBytes(limit: KeyLimits.mostBytes), flags: try fields.number())
    case 1: .unwrap(share: try fields.plainBytes(limit: 64), body: try fields.plainBytes(limit: 64))
    default: throw .malformed("it has an unknown use of a key")
    }
  }
}

/// A request to use a key.
package struct KeyUse: WireValue {
  /// As in its listing; of an age identity, its recipient's text.
  package var blob: [UInt8]
  package var work: KeyWork
  package var bindings: [SessionBinding]
  /// The process that asks, at the other end of the client's socket; 0 if unknown.
  package var asker: UInt32
  /// That of the question about this use, if there was one.
  package var ticket: UInt64?

  package init(
    blob: [UInt8], work: KeyWork, bindings: [SessionBinding] = [], asker: UInt32 = 0, ticket: UInt64? = nil
  ) {
    (self.blob, self.work, self.bindings, self.asker, self.ticket) = (blob, work, bindings, asker, ticket)
  }

  package func put(in frame: inout FrameWriter) throws(StoreError) {
    try frame.put(blob)
    try frame.put(work, bindings, asker, ticket)
  }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> KeyUse {
    try KeyUse(
      blob: fields.plainBytes(limit: KeyLimits.mostBytes), work: fields.read(KeyWork.self),
      bindings: fields.read([SessionBinding].self), asker: fields.number(), ticket: fields.read(UInt64?.self))
  }
}

/// The answer to a ``KeyUse``.
package enum KeyOutcome: WireValue {
  /// A signature as SSH encodes it, or a file key.
  case done(SecretForm)
  /// A person is asked first. The use is repeated with the question's ticket.
  case asks(KeyQuestion)

  package func put(in frame: inout FrameWriter) throws(StoreError) {
    switch self {
    case .done(let result): try frame.put(0 as UInt8, result)
    case .asks(let question): try frame.put(1 as UInt8, question)
    }
  }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> KeyOutcome {
    switch try fields.number(UInt8.self) {
    case 0: .done(try fields.read())
    case 1: .asks(try fields.read())
    default: throw .malformed("it has an unknown outcome")
    }
  }
}

/// An open question: whether a key may be used.
package struct KeyQuestion: WireValue, Equatable {
  package let ticket: UInt64
  /// The key's comment, and its use: `login`, `sign NAMESPACE`, `unwrap`.
  package let key: String, purpose: String
  /// The hosts on the way to a login, as `dev.example.com > git@github.com`; empty for a use here.
  package let way: String
  /// The asking program's name and process, as the agent reads them; empty and 0 if unknown.
  package let program: String, process: UInt32
  /// Whether only the vault's passphrase approves.
  package let needsPassphrase: Bool
  /// Whole seconds until it ends unanswered.
  package let left: UInt32

  package func put(in frame: inout FrameWriter) throws(StoreError) {
    try frame.put(ticket, key, purpose, way, program, process, needsPassphrase, left)
  }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> KeyQuestion {
    try KeyQuestion(
      ticket: fields.number(), key: fields.text(), purpose: fields.text(), way: fields.text(), program: fields.text(),
      process: fields.number(), needsPassphrase: fields.flag(), left: fields.number())
  }
}

/// An answer to a question about a key, or an approval ahead of any.
package enum KeyApproval: WireValue {
  /// For how long it holds.
  package enum Scope: WireValue, Equatable {
    case once
    /// For the asking job: its process group.
    case job
    /// - Parameter seconds: at most 12 hours.
    case time(seconds: UInt32)

    package func put(in frame: inout FrameWriter) throws(StoreError) {
      switch self {
      case .once: try frame.put(0 as UInt8)
      case .job: try frame.put(1 as UInt8)
      case .time(let seconds): try frame.put(2 as UInt8, seconds)
      }
    }
    package static func read(from fields: inout FrameReader) throws(StoreError) -> Scope {
      switch try fields.number(UInt8.self) {
      case 0: .once
      case 1: .job
      case 2: .time(seconds: try fields.number())
      default: throw .malformed("it has an unknown scope")
      }
    }
  }

  case yes(UInt64, Scope, passphrase: SecretForm?)
  case no(UInt64)
  /// Any use that the key's rules admit, for a time.
  case ahead(ItemName, seconds: UInt32, passphrase: SecretForm?)

  /// The vault's, if it is given.
  var passphrase: SecretForm? {
    switch self {
    case .yes(_, _, let passphrase), .ahead(_, _, let passphrase): passphrase
    case .no: nil
    }
  }

  package func put(in frame: inout FrameWriter) throws(StoreError) {
    switch self {
    case .yes(let ticket, let scope, let passphrase): try frame.put(0 as UInt8, ticket, scope, passphrase)
    case .no(let ticket): try frame.put(1 as UInt8, ticket)
    case .ahead(let key, let seconds, let passphrase): try frame.put(2 as UInt8, key, seconds, passphrase)
    }
  }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> KeyApproval {
    switch try fields.number(UInt8.self) {
    case 0: .yes(try fields.number(), try fields.read(Scope.self), passphrase: try fields.read(SecretForm?.self))
    case 1: .no(try fields.number())
    case 2:
      .ahead(
        try fields.read(ItemName.self), seconds: try fields.number(), passphrase: try fields.read(SecretForm?.self))
    default: throw .malformed("it has an unknown approval")
    }
  }
}

/// A key that an agent is to keep.
package enum KeyAddition: WireValue {
  /// A new Ed25519 key, in the vault.
  case newKey(ItemName, ItemMetadata)
  /// A new identity of age's, in the vault.
  case newIdentity(ItemName, ItemMetadata)
  /// A key that `ssh-add` sends, in the vault: the fields of its request, without constraints.
  case key(SecretForm, ItemName, ItemMetadata)
  /// An identity of age's, in the vault: its text.
  case identity(SecretForm, ItemName, ItemMetadata)
  /// A key that `ssh-add` sends, until the vault is locked: the fields of its request, with constraints if it has any.
  case loaded(SecretForm, isConstrained: Bool)

  package func put(in frame: inout FrameWriter) throws(StoreError) {
    switch self {
    case .newKey(let name, let metadata): try frame.put(0 as UInt8, name, metadata)
    case .newIdentity(let name, let metadata): try frame.put(1 as UInt8, name, metadata)
    case .key(let fields, let name, let metadata): try frame.put(2 as UInt8, name, metadata, fields)
    case .identity(let text, let name, let metadata): try frame.put(3 as UInt8, name, metadata, text)
    case .loaded(let fields, let isConstrained): try frame.put(4 as UInt8, isConstrained, fields)
    }
  }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> KeyAddition {
    let kind = try fields.number(UInt8.self)
    if kind == 4 {
      let isConstrained = try fields.flag()
      return .loaded(try fields.read(), isConstrained: isConstrained)
    }
    let (name, metadata) = (try fields.read(ItemName.self).checked(), try fields.read(ItemMetadata.self))
    switch kind {
    case 0: return .newKey(name, metadata)
    case 1: return .newIdentity(name, metadata)
    case 2: return .key(try fields.read(), name, metadata)
    case 3: return .identity(try fields.read(), name, metadata)
    default: throw .malformed("it has an unknown way to add a key")
    }
  }
}

/// A public key or certificate, as SSH encodes it.
package struct KeyBlob: WireValue {
  package let bytes: [UInt8]
  package init(_ bytes: [UInt8]) { self.bytes = bytes }

  package func put(in frame: inout FrameWriter) throws(StoreError) { try frame.put(bytes) }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> KeyBlob {
    KeyBlob(try fields.plainBytes(limit: KeyLimits.mostBytes))
  }
}

/// A row of the log of uses, a question that waits for a person, or why the log lacks rows.
package enum UseEntry: WireValue {
  case row(UseRow)
  case question(KeyQuestion)
  case note(String)

  package func put(in frame: inout FrameWriter) throws(StoreError) {
    switch self {
    case .row(let row): try frame.put(0 as UInt8, row)
    case .question(let question): try frame.put(1 as UInt8, question)
    case .note(let text): try frame.put(2 as UInt8, text)
    }
  }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> UseEntry {
    switch try fields.number(UInt8.self) {
    case 0: .row(try fields.read())
    case 1: .question(try fields.read())
    case 2: .note(try fields.text())
    default: throw .malformed("it has an unknown entry")
    }
  }
}

/// A use of a key or a value, as the log of uses holds it.
package struct UseRow: WireValue, Hashable {
  package enum Kind: UInt8, Sendable, CaseIterable {
    case login, sign, unwrap, read, refused
    /// The log's own: it was closed at a lock, its end was missing at the next unlock, or it was opened at an unlock.
    case closed, cut, opened
  }

  package var number: UInt64 = 0
  package var time: Date
  package var kind: Kind
  /// The item's id and name; the comment of a key that is not in the vault.
  package var item: UUID?, name: String
  /// Its use: a signature's namespace, a login's user; the reason for a refusal.
  package var detail = ""
  /// The host of a login, or the hosts on the way, and the fingerprint of the host key.
  package var host = "", hostKey = ""
  /// The asking process as the agent reads it: user, number, start (seconds since boot, in ticks of the kernel), program.
  package var user: UInt32 = 0, process: UInt32 = 0, start: UInt64 = 0, program = ""
  /// The program at the agent's socket.
  package var client = ""
  /// How a person approved it: `once`, `job`, `time`, `passphrase`; empty if nobody was asked.
  package var approval = ""
  /// How many equal refusals or reads within a minute it stands for.
  package var count: UInt32 = 1

  package func put(in frame: inout FrameWriter) throws(StoreError) {
    try frame.put(number, time, kind.rawValue, item, name, detail, host, hostKey)
    try frame.put(user, process, start, program, client, approval, count)
  }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> UseRow {
    let (number, time) = (try fields.number(UInt64.self), try fields.read(Date.self))
    guard let kind = Kind(rawValue: try fields.number()) else { throw .malformed("it has an unknown kind of use") }
    return try UseRow(
      number: number, time: time, kind: kind, item: fields.read(UUID?.self), name: fields.text(), detail: fields.text(),
      host: fields.text(), hostKey: fields.text(), user: fields.number(), process: fields.number(), start: fields.number(),
      program: fields.text(), client: fields.text(), approval: fields.text(), count: fields.number())
  }
}
