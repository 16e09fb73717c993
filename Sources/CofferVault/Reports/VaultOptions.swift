public import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows
public import SystemPackage

/// Options for opening a vault, beside its place and the credentials.
public struct VaultOptions: Sendable, Equatable {
  /// The folder of rollback pins: this machine and user's memory of each vault, by which a whole older copy of its file is
  /// noticed. Nil for none; then nothing outside the vault's own file is compared.
  ///
  /// A missing folder is made with mode 0700. Keep it where other writers of the vault's file cannot write.
  public var pins: FilePath?
  /// The vault that must be found; ``/CofferPlatform/StoreError/Kind/replaced`` otherwise.
  public var expected: VaultID?
  /// Invitations from others who have the vault, at most ``/CofferVaultFormat/Invitation/most``. A vault whose key does not come
  /// from theirs is refused with ``/CofferPlatform/StoreError/Kind/forked`` or ``/CofferPlatform/StoreError/Kind/rolledBack``. A
  /// recipient's first use of a vault needs one.
  public var invitations: [Invitation] = []
  /// The oldest generation that is accepted; ``/CofferPlatform/StoreError/Kind/rolledBack`` below it. For machines without a pin,
  /// or to whom the number was told.
  public var leastGeneration: UInt64?
  /// The folder of the lock that lets one passphrase of this user be hashed at a time, made with mode 0700 where it is missing;
  /// nil takes no turns. Hashing takes 64 to 256 MiB.
  public var lockFolder: FilePath?
  /// The least Argon2id cost of a passphrase slot that this machine puts up with, beyond the vault's own floor. A slot below
  /// either that the vault was unlocked with is raised to them after the next write, under the same passphrase; nil asks for the
  /// vault's floor alone.
  public var leastCost: PassphraseCost?
  /// Whether the descriptions of all items are kept in guarded memory while the vault is open, as an agent does, which is asked
  /// for them again and again.
  package var keepsIndex = false
  /// Whether the vault is open for a moment only, as for a command: on a full disk others may then be kept waiting meanwhile.
  package var isBrief = false

  /// Nothing beyond the vault's own file is compared: an older copy of it that is put back is not noticed.
  public static let withoutPins = VaultOptions(pins: nil)

  /// Options with the given parts. The caller has to choose the folder of pins; all other comparisons and turns are off unless
  /// they are given.
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
  /// Expects the vault that `text` names, as the variable `COFFER_EXPECT_VAULT` of a machine does: invitations, with spaces
  /// between them, at most ``/CofferVaultFormat/Invitation/most``; or else a vault's id, 32 hexadecimal digits, and perhaps a
  /// colon and the least generation.
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
      // Swift reads a sign before a number too.
      guard parts[1].utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let generation = UInt64(parts[1]),
        (1...FileCounter.most).contains(generation)
      else { throw Self.malformed(nil) }
      leastGeneration = max(generation, leastGeneration ?? 0)
    }
    expected = id
  }

  private static func invitation(_ word: String, _ number: Int) throws(StoreError) -> Invitation {
    do throws(StoreError) { return try Invitation(word) } catch {
      throw StoreError(error.kind, "its word \(number + 1) is no invitation", cure: error.cure)
    }
  }

  private static func malformed(_ cause: StoreError?) -> StoreError {
    StoreError(
      .invalidName, "what says which vault to expect is neither a vault's id nor invitations",
      cure: "give 32 hexadecimal digits, and a colon and a generation if wanted; or invitations, with spaces between them",
      underlying: cause)
  }
}
