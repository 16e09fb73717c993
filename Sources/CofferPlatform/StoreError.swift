/// The one error of Coffer's stores: what happened, to which key, in which file, and what to do about it.
///
/// It never holds a value, secret or not. Switch over ``kind``; print ``description``.
public struct StoreError: Error, Sendable {
  /// The reason for the error. Absence is none: an absent value reads as `nil`.
  public enum Kind: Sendable, Equatable {
    // The call is wrong.
    /// A name is empty, too long or has control characters.
    case invalidName
    /// The key's space was not given when the router was opened.
    case undeclared
    /// Two declared keys share a name.
    case duplicateKey
    /// A secret may not go where this call would put it, or somebody refused.
    case refused
    /// The store, the system or a protocol cannot do this at all.
    case unsupported
    /// A requirement of the call is missing: a credential at login, a folder of pins, the declaration of a session's key.
    case incomplete
    /// The caller's closure threw the underlying error.
    case closureThrew
    /// Larger than `limit` bytes.
    case tooLarge(limit: Int)
    /// A call into Coffer from an `update` closure, which runs under the store's lock; or a write through a router from a
    /// closure of its `transaction`.
    case reentrant
    /// The store was closed.
    case closed
    /// The object belongs to the parent of this forked process.
    case afterFork
    /// The task of an asynchronous call was cancelled while the call waited; nothing has changed.
    case cancelled

    // The value.
    /// The stored bytes, described by `stored`, are not a value of the key's type; they are kept.
    case undecodable(stored: String)
    /// The value could not be encoded; the stored value is kept.
    case unencodable
    /// The item has expired.
    case expired
    /// This machine's clock is over a day behind the vault's: expiry cannot be judged.
    case clockBehind
    /// The required item does not exist.
    case notFound
    /// The item to create exists.
    case alreadyExists
    /// Several items match.
    case ambiguous
    /// Another writer changed it after it was read.
    case conflict
    /// Part of a transaction over both stores, the outcome of which is unknown while the deciding store is unavailable. Once
    /// it answers, all of the transaction was made, or nothing.
    case pending(TransactionID)
    /// The transaction was given up earlier, and nothing of it was made.
    case givenUp
    /// The change may have been made: making it durable failed, or an agent did not answer. Check the stored value before
    /// trying again.
    case outcomeUnknown

    // The vault.
    /// Nothing has unlocked the vault.
    case locked
    /// No agent is running to hold the vault's key.
    case noAgent
    /// No credential was given to unlock or make the vault.
    case noCredentials
    /// A passphrase's cost, a key file or a slot could not open the vault.
    case unfitSecret
    /// No slot would remain to open the vault.
    case lastSlot
    /// The passphrase or key opens no slot.
    case wrongSecret
    /// There is no vault at this place.
    case noVault
    /// The file is not a vault.
    case notAVault
    /// Unreadable, by accident as far as can be known.
    case damaged
    /// Authentication failed: somebody without the key changed the file.
    case tampered
    /// An older state of this vault was put back.
    case rolledBack
    /// The vault continued from an older state, without this machine's writes.
    case forked
    /// Another vault stands in place of a known one.
    case replaced
    /// It concerns another vault than the agent's or the backup's.
    case otherVault
    /// Nothing shows who made the vault: a recipient sees it for the first time.
    case unproven
    /// The open file no longer stands at its path. A plain store throws it once, after opening the files there now, if
    /// values that it knew are missing from them.
    case moved
    /// The file is a vault in use, and does not hold all of it.
    case inUse
    /// Made by a newer version than this one reads.
    case newerFormat(found: Int, supported: Int)
    /// Unlocking needs more memory, in bytes, than there is.
    case kdfMemory(needs: Int, has: Int)

    // A server.
    /// It cannot be reached, or did not answer in time.
    case unreachable
    /// It refuses a login, or the renewal of one.
    case loginRefused

    // The machine.
    /// Another process holds the lock.
    case busy
    /// A file has the wrong permission, owner, mode or kind.
    case denied
    /// The place is not writable.
    case readOnly
    /// The disk is full.
    case noSpace
    /// Memory ran out, mostly guarded memory.
    case memory
    /// Another failure of the system, with its `errno`.
    case io(Int32)
  }

  /// The reason.
  public let kind: Kind
  /// What happened: a clause without capital or full stop.
  public let what: String
  /// The key or item concerned.
  public let key: String?
  /// The file, or other place, concerned.
  public let place: String?
  /// What to do next: a sentence without full stop.
  public let cure: String
  /// The error beneath, if any.
  public let underlying: (any Error)?

  /// The step that ``cure`` advises, for programs with their own name for it.
  package let remedy: Remedy?

  /// An error of `kind`.
  public init(
    _ kind: Kind, _ what: String, key: String? = nil, place: String? = nil, cure: String,
    underlying: (any Error)? = nil
  ) {
    self.init(kind, what, key: key, place: place, cure: cure, underlying: underlying, remedy: nil)
  }

  package init(
    _ kind: Kind, _ what: String, key: String? = nil, place: String? = nil, cure: String,
    underlying: (any Error)? = nil, remedy: Remedy?
  ) {
    self.kind = kind
    self.what = what
    self.key = key
    self.place = place
    self.cure = cure
    self.underlying = underlying
    self.remedy = remedy
  }

  /// The same error with `key`, if it named none.
  public func about(key: String) -> StoreError {
    StoreError(kind, what, key: self.key ?? key, place: place, cure: cure, underlying: underlying, remedy: remedy)
  }
}

extension StoreError: CustomStringConvertible {
  /// `key 'token': the vault is locked (/home/me/vault.sqlite); unlock it first`. One line: control and invisible
  /// characters, which a refused name may hold, are spelled out.
  public var description: String { (plainFacts + "; " + cure).spelledOut() }

  /// The description without the cure.
  package var facts: String { plainFacts.spelledOut() }

  private var plainFacts: String {
    var text = key.map { "key '\($0)': " } ?? ""
    text += what
    if let place { text += " (\(place))" }
    if let underlying { text += ": \(underlying)" }
    return text
  }
}

extension Error {
  /// Forbidden: in a closure, a `catch` without a pattern catches any error.
  @available(
    *, unavailable,
    message: "this error may be of any type: write do throws(StoreError) { … } catch { … }, or catch let error as StoreError"
  )
  public var kind: StoreError.Kind { fatalError("unavailable") }
}
