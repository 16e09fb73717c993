package import CofferPlatform

/// Finds the slot that credentials open, and ends at the first. Slots without a passphrase come first, because they cost
/// nothing. Each passphrase slot costs an Argon2id run; the cheapest come first.
package enum SlotSearch {
  private static let order: [[SlotKind]] = [[.keyFile], [.recoveryCode], [.recipient], [.passphraseAndKeyFile, .passphrase]]

  /// The maximum cost of one search, in ``PassphraseCost/effort``: it moves 32 GiB, and took 14 s where it was measured. The
  /// file's writer chooses the number of slots and their costs: sixteen slots at the bound of one would take two minutes.
  /// Sixteen slots of the standard cost, 3 passes over 256 MiB, move 20 GiB. The cheapest come first, so added slots cannot
  /// keep a slot of up to 6 passes over 256 MiB from its turn.
  static let mostWork: UInt64 = 32 * 1024

  /// Whether Argon2id may run; callers allow one run at a time.
  package static func mayHashPassphrase(_ header: VaultHeader, with credentials: borrowing Credentials) -> Bool {
    credentials.passphrase != nil && header.slots.contains { $0.frame.kind.takesPassphrase }
  }

  /// Opens `header` with the first slot that fits.
  ///
  /// - Parameters:
  ///   - memory: bytes that Argon2id may use; see ``MemoryLimit``.
  ///   - mostWork: the maximum cost of all runs together.
  /// - Throws: `.wrongSecret` if none opens, possibly because a slot was skillfully edited; `.tampered` if a slot accepted
  ///   the secret but its box did not open; `.damaged` if its own part names an impossible epoch; `.kdfMemory` if a slot
  ///   that may fit could not be tried; `.noCredentials`; `.unfitSecret`, `.damaged`, `.tooLarge` or `.wrongSecret` for an
  ///   invalid credential.
  package static func open(
    _ header: VaultHeader, with credentials: consuming Credentials, memory: Int, mostWork: UInt64 = mostWork, place: String? = nil
  ) throws(StoreError) -> OpenSlot {
    let inputs = try SlotInputs(credentials)
    var changed: StoreError?
    var tooCostly: StoreError?
    var budget = mostWork
    for kinds in order {
      let slots = header.slots.filter { kinds.contains($0.frame.kind) }
      for slot in slots.sorted(by: { ($0.frame.cost.effort, $0.id) < ($1.frame.cost.effort, $1.id) }) {
        do throws(StoreError) {
          try spend(slot.frame, inputs, memory, &budget)
          if let open = try attempt(slot, of: header, inputs, memory) { return open }
        } catch {
          switch error.kind {
          case .tampered, .damaged: changed = changed ?? error
          case .kdfMemory: tooCostly = tooCostly ?? error
          default: throw error
          }
        }
      }
    }
    throw named(changed ?? tooCostly.map { naming(the: header.slots, beside: $0) } ?? nothingFits(header, inputs), place)
  }

  /// - Throws: `.kdfMemory` if the cost exceeds the rest of the budget; the slot is not tried.
  private static func spend(_ frame: SlotFrame, _ inputs: borrowing SlotInputs, _ memory: Int, _ budget: inout UInt64)
    throws(StoreError)
  {
    guard inputs.hashesPassphrase(for: frame) else { return }
    // A run that never happens costs nothing.
    try PassphraseHash.check(frame.cost, memory: memory)
    guard frame.cost.effort <= budget else {
      throw StoreError(
        .kdfMemory(needs: Int(frame.mebibytes) << 20, has: memory),
        "the passphrase slots ask for more work together than any vault needs, and not all of them were tried",
        cure: "restore the vault from a backup, or unlock it with a key file, recovery code or recipient key")
    }
    budget -= frame.cost.effort
  }

  /// Nil if the credentials are not the slot's own.
  private static func attempt(
    _ slot: SealedSlot, of header: VaultHeader, _ inputs: borrowing SlotInputs, _ memory: Int
  ) throws(StoreError) -> OpenSlot? {
    var anchor: Anchor?
    guard let secret = try secret(of: slot, header.place, inputs, memory, &anchor) else { return nil }
    do throws(FormatError) {
      // The own box is bound to the public key, so this fails only for a mistake of the slot's maker.
      guard secret.publicKey == slot.frame.publicKey else { throw .unauthentic("slot's public key") }
      let key = try SlotSeal.openBox(slot, epoch: header.epoch, place: header.place, with: secret)
      return OpenSlot(frame: slot.frame, epoch: header.epoch, secret: secret, key: key, anchor: anchor)
    } catch .memory(let error) {
      throw FormatError.memory(error).storeError()
    } catch {
      // A recipient's slot was chosen by its public key alone: nothing has proved yet that it is genuine.
      guard slot.own != nil else { return nil }
      throw FormatError.unauthentic("slot, which knows this secret,").storeError()
    }
  }

  private static func secret(
    of slot: SealedSlot, _ place: SlotPlace, _ inputs: borrowing SlotInputs, _ memory: Int, _ anchor: inout Anchor?
  ) throws(StoreError) -> SlotSecret? {
    guard let own = slot.own else { return try inputs.recipientSecret(for: slot.frame.publicKey) }
    guard let input = try inputs.input(for: slot.frame, memory: memory) else { return nil }
    do throws(FormatError) {
      return try SlotSeal.openOwn(own, under: input, frame: slot.frame, place: place, anchor: &anchor)
    } catch .unauthentic {
      return nil
    } catch {
      throw error.storeError()
    }
  }

  /// Suggests the slots that cost no memory when this machine cannot try one.
  private static func naming(the slots: [SealedSlot], beside error: StoreError) -> StoreError {
    let others = slots.filter { !$0.frame.kind.takesPassphrase && $0.frame.kind != .foreign }.map {
      "\($0.frame.kind) (slot \(Hex.text($0.id.bytes.prefix(4))))"
    }
    let cure =
      others.isEmpty
      ? "free memory or raise the limit: every slot of this vault takes a passphrase"
      : "free memory or raise the limit, or unlock with another slot: \(others.joined(separator: ", "))"
    return StoreError(error.kind, error.what, cure: cure)
  }

  private static func nothingFits(_ header: VaultHeader, _ inputs: borrowing SlotInputs) -> StoreError {
    let kinds = Set(header.slots.map(\.frame.kind))
    if let given = inputs.whatNoSlotTakes(kinds) {
      return StoreError(.wrongSecret, "no slot of this vault takes \(given)", cure: "unlock it with \(openers(kinds))")
    }
    let altered = "if you are certain it is right, the vault may have been altered: restore it from a backup"
    return StoreError(
      .wrongSecret, inputs.whyNothingFits(kinds),
      cure: inputs.isForeignKeyFile
        ? "give a passphrase, or the key file that \(KeyFile.making) made for this vault"
        : kinds.contains(.recoveryCode)
          ? "give the recovery code in its place; \(altered)"
          : inputs.isIdentityAlone
            ? "give another identity, or ask someone who has the vault whether this one's slot was removed"
            : altered)
  }

  private static func openers(_ kinds: Set<SlotKind>) -> String {
    SlotKind.allCases.filter(kinds.contains).map { kind in
      switch kind {
      case .passphrase: "a passphrase"
      case .passphraseAndKeyFile: "a passphrase and its key file together"
      case .keyFile: "a key file"
      case .recoveryCode: "a recovery code"
      case .recipient: "an identity"
      case .foreign: "another program"
      }
    }.joined(separator: ", or ")
  }

  private static func named(_ error: StoreError, _ place: String?) -> StoreError {
    StoreError(
      error.kind, error.what, key: error.key, place: place, cure: error.cure, underlying: error.underlying,
      remedy: error.remedy)
  }
}
