internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage

/// The slot that a vault was unlocked with, kept while it is open: with its secret, the key of a new epoch opens without asking
/// for the passphrase again, and without Argon2id.
struct OpenSlot: ~Copyable, Sendable {
  private var frame: SlotFrame
  private(set) var epoch: UInt64
  private let secret: SlotSecret
  private(set) var key: VaultKey

  var id: SlotID { frame.id }
  var kind: SlotKind { frame.kind }

  init(frame: SlotFrame, epoch: UInt64, secret: consuming SlotSecret, key: consuming VaultKey) {
    self.frame = frame
    self.epoch = epoch
    self.secret = secret
    self.key = key
  }

  /// False in the child of a fork, where secret and key read as zeros.
  var isIntact: Bool { secret.isIntact && key.bytes.isIntact }

  /// Lends W, to seal another key to this slot.
  borrowing func withMix<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try secret.withMix(body)
  }

  /// What the slot costs to open; zeros where no passphrase is involved.
  var cost: PassphraseCost { frame.cost }

  /// The same slot, with the same key pair and W, behind another cost. Others that have the vault open with it go on.
  ///
  /// - Parameter inputs: the passphrase, and key file, that open it.
  /// - Parameter memory: bytes that Argon2id may use.
  borrowing func raised(
    to cost: PassphraseCost, for inputs: borrowing SlotInputs, memory: Int, place: SlotPlace
  ) throws(StoreError) -> NewSlot {
    let copy: SlotSecret
    do { copy = try secret.copy() } catch { throw error.storeError() }
    return try NewSlot.make(kind, for: inputs, id: id, secret: copy, cost: cost, memory: memory, place: place)
  }

  /// Takes over the key of the epoch that `header` is of. On an error nothing has changed.
  ///
  /// - Throws: `.locked` when the slot is gone or was given to another key pair, `.tampered` when its box does not open.
  mutating func reopen(in header: VaultHeader, path: String? = nil) throws(StoreError) {
    guard let slot = header.slots.first(where: { $0.id == frame.id }), slot.frame.publicKey == frame.publicKey,
      slot.frame.kind == frame.kind
    else {
      throw StoreError(
        .locked, "the vault's key was changed, and the slot it was unlocked with is gone", place: path,
        cure: "unlock it again")
    }
    do throws(FormatError) {
      key = try SlotSeal.openBox(slot, epoch: header.epoch, place: header.place, with: secret)
    } catch {
      throw error.storeError(place: path)
    }
    frame = slot.frame
    epoch = header.epoch
  }
}
