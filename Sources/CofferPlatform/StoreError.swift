/// The one error of Coffer's stores: what happened, to which key, in which file, and what to do about it.
///
/// It never holds a value, secret or not. Switch over ``kind``; print ``description``.
public struct StoreError: Error, Sendable {
  /// A decision that a caller can take. Absence is not among them: an absent value reads as `nil`.
  public enum Kind: Sendable, Equatable {
    // The call is wrong.
    /// A name is empty, too long or holds control characters.
    case invalidName
    /// The key's space was not given when the router was opened.
    case undeclared
    /// Two declared keys share a name.
    case duplicateKey
    /// A secret may not go where this call would put it, or somebody said no.
    case refused
    /// The store, the system or a protocol cannot do this at all.
    case unsupported
    /// Something that the call needs was not given: a credential at login, a folder of pins, the declaration of a key of a
    /// session.
    case incomplete
    /// The closure that the caller gave threw; the error beneath is its own.
    case closureThrew
    /// Larger than `limit` bytes.
    case tooLarge(limit: Int)
    /// A call into Coffer from inside an `update` closure, which runs under the store's lock; or a write through a router from
    /// inside a closure of its `transaction`.
    case reentrant
    /// The store was closed.
    case closed
    /// The object belongs to the process that this one was forked from.
    case afterFork

    // The value.
    /// The stored bytes are not a value of the key's type; they are left alone. `stored` describes them.
    case undecodable(stored: String)
    /// The value's own encoding failed; the stored value is left alone.
    case unencodable
    /// The item is there and its expiry has passed.
    case expired
    /// This machine's clock is more than a day behind the vault's, so expiry cannot be judged.
    case clockBehind
    /// No such item, where the call needs one.
    case notFound
    /// Already there, where the call must create.
    case alreadyExists
    /// Several items match.
    case ambiguous
    /// Changed by someone else since it was read.
    case conflict
    /// Part of a transaction over both stores whose outcome is not known yet: the store that decides it cannot be asked now. Once
    /// it can, all of the transaction was made, or nothing.
    case pending(TransactionID)
    /// The transaction was given up before it came here, and nothing of it was made.
    case givenUp
    /// The change may or may not have been made: the place failed while the change was made durable, or an agent was asked for it
    /// and did not answer. Check the stored value before trying again.
    case outcomeUnknown

    // The vault.
    /// Nothing has unlocked the vault.
    case locked
    /// No agent is running that could hold the vault's key.
    case noAgent
    /// Nothing was given to unlock the vault with, or to make one with.
    case noCredentials
    /// A passphrase's cost, a key file or a slot is not one that the vault could be opened with.
    case unfitSecret
    /// No slot would remain, and nothing would open the vault.
    case lastSlot
    /// The passphrase or key opens no slot.
    case wrongSecret
    /// No vault at this place.
    case noVault
    /// The file is something else than a vault.
    case notAVault
    /// Not readable as expected, by accident as far as can be told.
    case damaged
    /// Something authenticated does not fit: the file was changed by someone who does not hold the key.
    case tampered
    /// An older state of this vault was put back.
    case rolledBack
    /// The vault continued from an older state without this machine's writes.
    case forked
    /// Another vault stands where a known one was.
    case replaced
    /// It is about another vault: one that the agent does not keep, or that a backup is not of.
    case otherVault
    /// Nothing shows who made the vault: a recipient sees it for the first time.
    case unproven
    /// The open file no longer stands at its path. A plain store says so where values that it knew are not in the files that
    /// stand there now, once, and has opened those.
    case moved
    /// The file is a vault in use, and not all of it is in the file.
    case inUse
    /// Made by a newer version than this one reads.
    case newerFormat(found: Int, supported: Int)
    /// Unlocking needs more memory than there is, in bytes.
    case kdfMemory(needs: Int, has: Int)

    // A server.
    /// It cannot be reached, or did not answer in time.
    case unreachable
    /// It refuses a login, or what should renew one.
    case loginRefused

    // The machine.
    /// Another process holds the lock.
    case busy
    /// Wrong permission, owner, mode or kind of a file.
    case denied
    /// The place cannot be written.
    case readOnly
    /// The disk is full.
    case noSpace
    /// Memory ran out, guarded memory above all.
    case memory
    /// Any other failure of the system, with its `errno`.
    case io(Int32)
  }

  /// Which decision this is.
  public let kind: Kind
  /// What happened, in a clause without capital or full stop.
  public let what: String
  /// The key or item it happened to.
  public let key: String?
  /// The file, or other place, it happened in.
  public let place: String?
  /// What to do next, as a sentence without full stop.
  public let cure: String
  /// The error beneath, where there is one.
  public let underlying: (any Error)?

  /// The step that ``cure`` advises, where a program may have a name of its own for it.
  package let remedy: Remedy?

  /// An error of `kind`.
  public init(
    _ kind: Kind, _ what: String, key: String? = nil, place: String? = nil, cure: String,
    underlying: (any Error)? = nil
  ) {
    self.init(kind, what, key: key, place: place, cure: cure, underlying: underlying, remedy: nil)
  }

  /// An error of `kind` whose cure is `remedy`.
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

  /// The same error, said of `key` where it named none.
  public func about(key: String) -> StoreError {
    StoreError(kind, what, key: self.key ?? key, place: place, cure: cure, underlying: underlying, remedy: remedy)
  }
}

extension StoreError: CustomStringConvertible {
  /// `key 'token': the vault is locked (/home/me/vault.sqlite); unlock it first`. One line: control characters and others that
  /// are not seen, which a refused name may hold, are spelled out.
  public var description: String { (plainFacts + "; " + cure).spelledOut() }

  /// The same without what to do next.
  package var facts: String { plainFacts.spelledOut() }

  private var plainFacts: String {
    var text = key.map { "key '\($0)': " } ?? ""
    text += what
    if let place { text += " (\(place))" }
    if let underlying { text += ": \(underlying)" }
    return text
  }
}
