import CofferTestSupport
import CofferMemory
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat
@testable import CofferVaultRows

/// Forgeries by a Python program without a key or with a past one, and seals that violate the format.
@Suite(.enabled(if: Witness.isThere, Witness.missing)) struct WitnessForgeryTests {
  // MARK: Forged vaults

  struct Forgery: Encodable {
    let path: String, epoch: UInt64
    var sameVault = true
    /// An older copy, from a holder of the key at that time, and its key.
    var old: String?
    var keyFile: HexBytes?
  }

  struct Forged: Decodable { let vault: String }

  /// The opener's knowledge of the true vault.
  enum Knowledge: CaseIterable {
    case pin, firstInvitation, presentInvitation, nothing
  }

  /// A vault of epoch 2 with a member, a friend who is a recipient, and a former member's copy of epoch 1.
  struct Scene {
    let present: TemporaryVault
    let old: TemporaryVault
    let friend: HexBytes
    let former: HexBytes
    let invitations: [Invitation]
    var pins: FilePath { present.folder.appending("pins") }

    init() throws {
      present = try TemporaryVault()
      let options = VaultOptions(pins: present.folder.appending("pins"))
      let vault = try UnlockedVault.create(at: present.path, with: TemporaryVault.credentials(), label: "owner", options: options)
      let former = try KeyFile.generate()
      let friend = try Identity.generate()
      (self.former, self.friend) = (HexBytes(former.revealed), HexBytes(friend.revealed))
      let slot = try vault.addSlot(Credentials(keyFile: former), label: "former member").id
      try vault.addSlot(Identity.recipient(of: friend), label: "friend")
      try vault.set(form("value"), for: ItemName(service: "item"))
      let first = try vault.invitation()
      old = try present.copy()
      try vault.removeSlot(slot)
      invitations = [first, try vault.invitation()]
      _ = try vault.lock()
    }

    func options(_ knowledge: Knowledge) -> VaultOptions {
      switch knowledge {
      case .pin: VaultOptions(pins: pins)
      case .firstInvitation: VaultOptions(pins: nil, invitations: [invitations[0]])
      case .presentInvitation: VaultOptions(pins: nil, invitations: [invitations[1]])
      case .nothing: .withoutPins
      }
    }

    func forge(_ rows: [Row]) throws -> [Data] {
      let copies = try rows.map { _ in try present.copy() }
      let requests = zip(rows, copies).map { row, copy in
        var forgery = Forgery(path: copy.path.string, epoch: row.epoch, sameVault: row.sameVault)
        if row.byFormer { (forgery.old, forgery.keyFile) = (old.path.string, former) }
        return forgery
      }
      _ = try Witness.ask("forge", requests, as: Forged.self)
      return try copies.map { try Data(contentsOf: URL(filePath: $0.path.string)) }
    }
  }

  struct Opening {
    let who: String, key: Witness.Key, options: VaultOptions, expected: StoreError.Kind?
  }

  /// A forgery, and the friend's refusal for each ``Knowledge`` in order; nil for none.
  struct Row: CustomTestStringConvertible {
    let testDescription: String
    let epoch: UInt64
    var sameVault = true
    var byFormer = false
    let friend: [StoreError.Kind?]
    let owner: StoreError.Kind?
  }

  static let rows = [
    Row(
      testDescription: "without a key, in the present epoch", epoch: 2, friend: [.forked, .forked, .forked, .unproven],
      owner: .wrongSecret),
    Row(
      testDescription: "without a key, in a later epoch", epoch: 5, friend: [.forked, .forked, .forked, .unproven],
      owner: .wrongSecret),
    Row(
      testDescription: "without a key, in an earlier epoch", epoch: 1, friend: [.rolledBack, .forked, .rolledBack, .unproven],
      owner: .wrongSecret),
    Row(
      testDescription: "without a key, of another id", epoch: 2, sameVault: false,
      friend: [.replaced, .replaced, .replaced, .unproven], owner: .replaced),
    // The stated limit: a former member knows L of the epochs up to the removal, and convinces a reader who knows no later
    // one.
    Row(
      testDescription: "by a former member, in the present epoch", epoch: 2, byFormer: true,
      friend: [.forked, nil, .forked, .unproven], owner: .forked),
    Row(
      testDescription: "by a former member, in a later epoch", epoch: 9, byFormer: true,
      friend: [.forked, nil, .forked, .unproven], owner: .forked),
    Row(
      testDescription: "by a former member, in his own epoch", epoch: 1, byFormer: true,
      friend: [.rolledBack, .forked, .rolledBack, .unproven], owner: .rolledBack),
  ]

  @Test(.tags(.process), .wholeRun)
  func `who forges a vault is refused by both readers for the same reason, and the stated limit is where it is said`() throws {
    let scene = try Scene()
    let pins = try KeptFiles(scene.pins)
    for (row, forged) in zip(Self.rows, try scene.forge(Self.rows)) {
      try KeptFiles(["vault.sqlite": forged]).put(into: scene.present.folder)
      let openings = openings(row, scene)
      let requests = openings.map {
        WitnessReadingTests.Request(
          path: scene.present.path.string, pins: $0.options.pins?.string, invitations: $0.options.invitations.map(\.description),
          key: $0.key)
      }
      for (opening, answer) in zip(openings, try Witness.ask("read", requests, as: Witness.Answer.self)) {
        try pins.put(into: scene.pins)
        let found = kind {
          _ = try LockedVault.open(scene.present.path, options: opening.options).unlock(with: opening.key.credentials())
        }
        #expect(found == opening.expected, "\(row.testDescription): \(opening.who)")
        #expect(answer.refused == opening.expected.map(\.word), "\(row.testDescription): \(opening.who), \(answer.why ?? "")")
      }
    }
  }

  private func openings(_ row: Row, _ scene: Scene) -> [Opening] {
    let owner = Witness.Key(keyFile: HexBytes([UInt8](TemporaryVault.keyFile.utf8)))
    return zip(Knowledge.allCases, row.friend).map { knowledge, expected in
      Opening(
        who: "friend with \(knowledge)", key: Witness.Key(identity: scene.friend), options: scene.options(knowledge),
        expected: expected)
    } + [Opening(who: "owner", key: owner, options: scene.options(.pin), expected: row.owner)]
  }

  // MARK: Vaults of another layout

  struct Malforming: Encodable {
    let folder: String, keyFile: HexBytes, first: Int, step: Int
  }
  struct Malformed: Decodable { let made: [String: String] }

  @Test(.tags(.campaign, .process), .wholeRun)
  func `what was sealed otherwise than the text allows is refused by both readers`() throws {
    let folder = try TestFolder("malformed")
    let keyFile = HexBytes([UInt8](TemporaryVault.keyFile.utf8))
    // The short form takes one kind in five, others in each run.
    let step = Campaign.size(short: 5, long: 1)
    var random = Random(campaign: "vaults of another layout")
    let request = Malforming(
      folder: folder.path.string, keyFile: keyFile, first: Int.random(in: 0..<step, using: &random), step: step)
    let made = try #require(try Witness.ask("malform", [request], as: Malformed.self).first).made
    let requests = made.values.map {
      WitnessReadingTests.Request(path: $0, pins: nil, invitations: [], key: Witness.Key(keyFile: keyFile))
    }
    for (name, answer) in zip(made.keys, try Witness.ask("read", requests, as: Witness.Answer.self)) {
      #expect(answer.refused == "damaged" || answer.refused == "tampered", "\(name): \(answer.refused ?? "it is read")")
    }
    for (name, path) in made {
      let found = kind { try readAll(FilePath(path)) }
      #expect(found == .damaged || found == .tampered, "\(name): \(found.map { "\($0)" } ?? "it is read")")
    }
    #expect(!made.isEmpty)
    print("another writer: \(made.count) vaults of another layout")
  }

  private func readAll(_ path: FilePath) throws {
    let vault = try LockedVault.open(path).unlock(with: TemporaryVault.credentials())
    _ = try vault.verify()
    for item in try vault.list() { _ = try vault.get(item.name) }
    _ = try vault.log()
  }
}
