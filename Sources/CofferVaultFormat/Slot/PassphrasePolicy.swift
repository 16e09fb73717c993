package import CofferPlatform

/// The cost of a new passphrase slot, from this machine and the sealed header's floor, never from a slot: a writer of the
/// file could otherwise have the next passphrase hashed cheaply.
package enum PassphrasePolicy {
  /// A guess costs an attacker as much as an unlock costs here, and half a second bothers nobody.
  private static let slowEnough = Duration.milliseconds(500)
  /// RFC 9106 recommends 3 passes for the smaller memory sizes.
  private static let leastPasses: UInt32 = 3
  /// Largest first. Fixed sizes, so a vault made on a large machine opens on a small one.
  private static let memorySizes: [UInt32] = [256, 128, 64]

  /// - Parameter wanted: the caller's choice; nil measures this machine, which takes one Argon2id run.
  /// - Parameter memory: bytes that Argon2id may use.
  /// - Throws: `.unfitSecret` for a choice below `floor`, `.kdfMemory` for a cost that this machine cannot run or no reader
  ///   accepts.
  package static func cost(
    _ wanted: PassphraseCost?, floor: PassphraseCost, memory: Int
  ) throws(StoreError) -> PassphraseCost {
    guard let wanted else { return try measured(floor: floor, memory: memory) }
    guard !wanted.isBelow(floor) else {
      throw StoreError(
        .unfitSecret,
        "\(wanted.passes) passes over \(wanted.mebibytes) MiB are less than the vault's floor of \(floor.passes) over "
          + "\(floor.mebibytes)",
        cure: "give at least the floor, or no cost at all to have this machine measured")
    }
    try PassphraseHash.check(wanted, memory: memory)
    return wanted
  }

  private static func measured(floor: PassphraseCost, memory: Int) throws(StoreError) -> PassphraseCost {
    let fitting = memorySizes.first { Int($0) << 20 <= memory / 2 } ?? memorySizes.last
    let mebibytes = max(fitting ?? floor.mebibytes, floor.mebibytes)
    let least = PassphraseCost(passes: max(leastPasses, floor.passes), mebibytes: mebibytes)
    let elapsed = try time(least, memory)
    return PassphraseCost(passes: passes(of: least, taking: elapsed), mebibytes: mebibytes)
  }

  /// Enough passes to take long enough, within what a reader accepts.
  static func passes(of least: PassphraseCost, taking elapsed: Duration) -> UInt32 {
    let most = min(UInt64(PassphraseHash.passes.upperBound), PassphraseHash.mostWork / UInt64(least.mebibytes))
    let ratio = slowEnough / max(elapsed, .microseconds(1))
    let enough = UInt64((Double(least.passes) * min(ratio, Double(most))).rounded(.up))
    return max(least.passes, UInt32(clamping: min(enough, most)))
  }

  private static func time(_ cost: PassphraseCost, _ memory: Int) throws(StoreError) -> Duration {
    let start = ContinuousClock.now
    _ = try SlotSalt.random().withBytes { (salt) throws(StoreError) in
      try PassphraseHash.derive(salt, salt: .zero, cost: cost, memory: memory)
    }
    return ContinuousClock.now - start
  }
}

extension PassphraseCost {
  /// Passes times MiB: the time of a run.
  var work: UInt64 { UInt64(passes) * UInt64(mebibytes) }

  /// The time of a run for a stranger's slot, in MiB of traffic: the passes, plus two because the system must clear and map
  /// the memory. For 2 GiB, one pass alone takes 0.9 s and a whole run of one pass 2.1 s, measured; without the two, few
  /// passes over much memory would be a file's cheapest way to waste time.
  var effort: UInt64 { (UInt64(passes) + 2) * UInt64(mebibytes) }

  /// The minimum cost that is below neither.
  package static func max(_ one: PassphraseCost, _ other: PassphraseCost) -> PassphraseCost {
    PassphraseCost(passes: Swift.max(one.passes, other.passes), mebibytes: Swift.max(one.mebibytes, other.mebibytes))
  }

  package func isBelow(_ floor: PassphraseCost) -> Bool { passes < floor.passes || mebibytes < floor.mebibytes }

  /// The minimum recommended cost, and the floor of a vault whose cost was measured: 3 passes over 64 MiB, which RFC 9106
  /// (section 4) recommends if memory is scarce; 64 ms measured.
  public static let floor = PassphraseCost(passes: 3, mebibytes: 64)
}
