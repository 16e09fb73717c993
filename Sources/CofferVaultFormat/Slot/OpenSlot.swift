package import CofferPlatform
internal import CofferStorage

/// The slot that unlocked a vault, kept while it is open: its secret opens the key of a new epoch without passphrase and
/// Argon2id.
package struct OpenSlot: ~Copyable, Sendable {
  private var frame: SlotFrame
  package private(set) var epoch: UInt64
  private let secret: SlotSecret
  package private(set) var key: VaultKey
  /// The key that the slot's own secret names; nil for a recipient.
  package let anchor: Anchor?

  package var id: SlotID { frame.id }
  package var publicKey: PublicKey32 { frame.publicKey }
  package var kind: SlotKind { frame.kind }

  package init(
    frame: SlotFrame, epoch: UInt64, secret: consuming SlotSecret, key: consuming VaultKey, anchor: Anchor? = nil
  ) {
    self.frame = frame
    self.epoch = epoch
    self.secret = secret
    self.key = key
    self.anchor = anchor
  }

  /// False in a forked child, where secret and key read as zeros.
  var isIntact: Bool { secret.isIntact && key.bytes.isIntact }

  /// For sealing another key to this slot.
  borrowing func withMix<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try secret.withMix(body)
  }

  /// Zeros without a passphrase.
  package var cost: PassphraseCost { frame.cost }

  /// The same slot, with the same key pair and W, behind another cost. Other processes that opened the vault with it
  /// continue.
  ///
  /// - Parameter inputs: the passphrase, and key file, that open it.
  /// - Parameter memory: bytes that Argon2id may use.
  package borrowing func raised(
    to cost: PassphraseCost, for inputs: borrowing SlotInputs, memory: Int, place: SlotPlace
  ) throws(StoreError) -> NewSlot {
    let copy: SlotSecret
    do { copy = try secret.copy() } catch { throw error.storeError() }
    return try NewSlot.make(kind, for: inputs, id: id, secret: copy, cost: cost, memory: memory, place: place)
  }

  /// The same slot, open in `header`; nil if it is gone or changed there.
  package borrowing func copied(in header: VaultHeader) throws(StoreError) -> OpenSlot? {
    do throws(StoreError) {
      let key = try key(in: header, place: nil)
      let frame = try slot(in: header, nil).frame
      let secret: SlotSecret
      do { secret = try self.secret.copy() } catch { throw error.storeError() }
      return OpenSlot(frame: frame, epoch: header.epoch, secret: secret, key: key, anchor: anchor)
    } catch {
      guard error.kind == .locked || error.kind == .tampered else { throw error }
      return nil
    }
  }

  /// - Throws: `.locked` if the slot is gone or has another key pair: nothing can be proven any more.
  private borrowing func slot(in header: VaultHeader, _ place: String?) throws(StoreError) -> SealedSlot {
    guard let slot = header.slots.first(where: { $0.id == frame.id }), slot.frame.publicKey == frame.publicKey,
      slot.frame.kind == frame.kind
    else {
      throw StoreError(
        .locked, "the slot that the vault was unlocked with was removed, or edited", place: place,
        cure: "unlock it again, with another secret if this one was removed")
    }
    return slot
  }

  /// The key of `header`'s epoch, by the kept secret. Changes nothing, because the header's author must be proven first.
  ///
  /// - Throws: `.locked` if the slot is gone or has another key pair, `.tampered` if its box does not open.
  package borrowing func key(in header: VaultHeader, place: String?) throws(StoreError) -> VaultKey {
    let slot = try slot(in: header, place)
    do throws(FormatError) {
      return try SlotSeal.openBox(slot, epoch: header.epoch, place: header.place, with: secret)
    } catch {
      throw error.storeError(place: place)
    }
  }

  package mutating func take(_ key: consuming VaultKey, of header: VaultHeader, place: String?) throws(StoreError) {
    frame = try slot(in: header, place).frame
    epoch = header.epoch
    self.key = key
  }

  /// Adopts the slot's frame from a header that the held key has sealed.
  ///
  /// - Throws: `.locked` if the slot is gone or has another key pair.
  package mutating func takeFrame(of header: VaultHeader, place: String?) throws(StoreError) {
    frame = try slot(in: header, place).frame
  }

  /// Adopts the key of `header`'s epoch. This process must have written or proven the header. After an error nothing has
  /// changed.
  ///
  /// - Throws: the errors of ``key(in:place:)``.
  package mutating func reopen(in header: VaultHeader, place: String? = nil) throws(StoreError) {
    try take(key(in: header, place: place), of: header, place: place)
  }
}
