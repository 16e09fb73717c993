public import CofferPlatform
internal import CofferVaultFormat
package import CofferVaultRows
public import SystemPackage

/// Options for opening a vault.
public struct VaultOptions: Sendable, Equatable {
  /// The folder of rollback pins: this machine and user's memory of each vault, which reveals an older copy of its whole
  /// file. Nil compares nothing outside the vault's own file.
  ///
  /// A missing folder is created with mode 0700. Other writers of the vault's file must not be able to write there.
  public var pins: FilePath?
  /// The expected vault; any other is ``/CofferPlatform/StoreError/Kind/replaced``.
  public var expected: VaultID?
  /// Invitations from other holders of the vault, at most ``/CofferVaultFormat/Invitation/most``. A vault whose key does not
  /// descend from theirs is ``/CofferPlatform/StoreError/Kind/forked`` or ``/CofferPlatform/StoreError/Kind/rolledBack``. A
  /// recipient's first use of a vault needs one.
  public var invitations: [Invitation] = []
  /// The oldest accepted generation; an older one is ``/CofferPlatform/StoreError/Kind/rolledBack``. For machines without a
  /// pin.
  public var leastGeneration: UInt64?
  /// The folder of the lock that limits this user to hashing one passphrase at a time (64 to 256 MiB). Created with mode
  /// 0700 if missing; nil takes no turns.
  public var lockFolder: FilePath?
  /// This machine's minimum Argon2id cost of a passphrase slot, beyond the vault's own floor. If the slot that unlocked the
  /// vault costs less, the next write raises it under the same passphrase.
  public var leastCost: PassphraseCost?
  /// Whether to keep the descriptions of all items in guarded memory while the vault is open, as for an agent's repeated
  /// queries.
  package var keepsIndex = false
  /// Whether the values of withheld records are lent only to ``UnlockedVault/withKey(_:_:)``. For a holder that answers other
  /// programs, as an agent. A merge takes no account of it.
  package var withholdsKeys = false
  /// Whether the vault is open only briefly, as for a command: on a full disk others may then have to wait.
  package var isBrief = false
  /// The roles that the server of a new vault lets in.
  package var roles: [ServerRole] = []

  /// Compares nothing beyond the vault's own file: an older copy put in its place goes unnoticed.
  public static let withoutPins = VaultOptions(pins: nil)

  /// Options with the given parts. Omitted comparisons and turns are off.
  public init(
    pins: FilePath?, expected: VaultID? = nil, invitations: [Invitation] = [], leastGeneration: UInt64? = nil,
    lockFolder: FilePath? = nil, leastCost: PassphraseCost? = nil
  ) {
    self.pins = pins
    self.expected = expected
    self.invitations = invitations
    self.leastGeneration = leastGeneration
    self.lockFolder = lockFolder
    self.leastCost = leastCost
  }
}

extension VaultOptions {
  /// Expects the vault named by `text`, the format of `COFFER_EXPECT_VAULT`: space-separated invitations, at most
  /// ``/CofferVaultFormat/Invitation/most``; or a vault's id, 32 hexadecimal digits, optionally followed by a colon and the
  /// minimum generation.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/invalidName`` for anything else.
  public mutating func expect(_ text: String) throws(StoreError) {
    let words = text.split(separator: " ", omittingEmptySubsequences: true).map { String($0) }
    guard let first = words.first, words.count <= Invitation.most else { throw Self.malformed(nil) }
    do throws(StoreError) {
      guard words.count == 1, !Invitation.begins(first) else {
        for (number, word) in words.enumerated() { invitations.append(try Self.invitation(word, number)) }
        return
      }
    } catch { throw Self.malformed(error) }
    let parts = first.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count <= 2, let id = VaultID(String(parts[0])) else { throw Self.malformed(nil) }
    if parts.count == 2 {
      // Swift also accepts a sign before a number.
      guard parts[1].utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let generation = UInt64(parts[1]),
        (1...FileCounter.most).contains(generation)
      else { throw Self.malformed(nil) }
      leastGeneration = max(generation, leastGeneration ?? 0)
    }
    expected = id
  }

  private static func invitation(_ word: String, _ number: Int) throws(StoreError) -> Invitation {
    do throws(StoreError) { return try Invitation(word) } catch {
      throw StoreError(error.kind, "its word \(number + 1) is not an invitation", cure: error.cure)
    }
  }

  private static func malformed(_ cause: StoreError?) -> StoreError {
    StoreError(
      .invalidName, "the expected vault is neither an id nor invitations",
      cure: "give 32 hexadecimal digits, and a colon and a generation if wanted; or invitations, with spaces between them",
      underlying: cause)
  }
}
