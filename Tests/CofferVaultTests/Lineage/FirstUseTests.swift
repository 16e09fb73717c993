import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat
@testable import CofferVaultRows

@Suite struct FirstUseTests {
  private final class Shared {
    let place: TemporaryVault
    let invitation: Invitation
    var path: FilePath { place.path }

    init(_ identity: [UInt8], _ value: String) throws {
      place = try TemporaryVault()
      let vault = try place.create()
      try vault.addSlot(Identity.recipient(of: SecretBytes(identity)))
      try vault.set(form(value), for: .sample)
      invitation = try vault.invitation()
      _ = try vault.lock()
      try place.attack("PRAGMA wal_checkpoint(TRUNCATE)")
    }

    var bytes: Data { get throws { try Data(contentsOf: URL(fileURLWithPath: path.string)) } }

    func put(_ bytes: Data) throws {
      for suffix in ["-wal", "-shm"] { unlink(path.string + suffix) }
      try bytes.write(to: URL(fileURLWithPath: path.string))
    }
  }

  private let identity: [UInt8]
  private let pins: TestFolder
  private let first: Shared
  private let second: Shared

  init() throws {
    identity = try SecretBytes.random(32).revealed
    pins = try TestFolder("pins")
    (first, second) = (try Shared(identity, "first"), try Shared(identity, "second"))
  }

  private func options(_ invitations: [Invitation] = [], _ expected: VaultID? = nil, pins folder: FilePath? = nil) -> VaultOptions
  {
    VaultOptions(pins: folder ?? pins.path.appending("pins"), expected: expected, invitations: invitations)
  }

  private func credentials(_ invitations: [Invitation] = []) throws -> Credentials {
    // The secret key in a file's form, followed by lines.
    let line = "PVID1-" + Hex.text(identity) + Hex.text(PlainHash.digest(identity).bytes.prefix(4)) + "\n"
    let content = try secret(line + invitations.map { "\($0)\n" }.joined())
    var credentials = Credentials()
    credentials.identity = consume content
    return credentials
  }

  private func answer(_ vault: Shared, _ options: VaultOptions, _ carried: [Invitation] = []) throws -> String {
    var found = ""
    let refusal = kind {
      found = text(try LockedVault.open(vault.path, options: options).unlock(with: credentials(carried)).get(.sample)) ?? ""
    }
    return refusal.map { "\($0)" } ?? found
  }

  @Test func `a recipient believes a vault that was never seen for an invitation alone`() throws {
    let id = first.invitation.vault
    #expect(try answer(first, options()) == "unproven")
    #expect(try answer(first, options([], id)) == "unproven")
    #expect(try answer(first, options([second.invitation])) == "replaced")
    #expect(try answer(first, options([first.invitation, second.invitation])) == "replaced")
    #expect(try answer(first, options([first.invitation], second.invitation.vault)) == "replaced")
    // Those in the identity's file may be of other vaults.
    #expect(try answer(first, options(), [second.invitation]) == "unproven")
    #expect(!FileManager.default.fileExists(atPath: pins.path.appending("pins").string), "nothing was remembered")
    #expect(try answer(first, options(), [second.invitation, first.invitation]) == "first")
    #expect(try answer(first, options()) == "first")
  }

  @Test func `without a folder of pins an invitation is needed each time`() throws {
    let none = { (invitations: [Invitation], id: VaultID?) in VaultOptions(pins: nil, expected: id, invitations: invitations) }
    for _ in 0..<2 {
      #expect(try answer(first, none([], nil)) == "unproven")
      #expect(try answer(first, none([], first.invitation.vault)) == "unproven")
      #expect(try answer(first, none([first.invitation], nil)) == "first")
    }
  }

  @Test func `an invitation to another vault is refused before any secret is tried`() throws {
    let refusal = kind {
      _ = try LockedVault.open(first.path, options: options([second.invitation])).unlock(
        with: Credentials(keyFile: KeyFile.generate()))
    }
    #expect(refusal == .replaced)
  }

  @Test func `two known vaults of one identity cannot be exchanged at known places, nor put at new ones`() throws {
    for vault in [first, second] { _ = try answer(vault, options([vault.invitation])) }
    let before = try KeptFiles(pins.path).files
    let (one, two) = (try first.bytes, try second.bytes)
    try first.put(two)
    try second.put(one)
    #expect(try answer(first, options()) == "replaced")
    #expect(try answer(second, options()) == "replaced")
    #expect(try answer(first, options([second.invitation])) == "replaced", "the place is known")
    // No write makes the exchange the new truth.
    for vault in [first, second] {
      for rebuilding in [false, true] {
        let refusal = kind {
          _ = try LockedVault.open(vault.path, options: options()).repair(with: credentials(), rebuilding: rebuilding)
        }
        #expect(refusal == .replaced)
      }
      #expect(kind { _ = try LockedVault.open(vault.path, options: options()).backup(to: pins.path.appending("b")) } == .replaced)
    }
    #expect(try KeptFiles(pins.path).files == before)
    try first.put(one)
    #expect(try answer(first, options()) == "first")

    let elsewhere = try Shared(identity, "elsewhere")
    try elsewhere.put(two)
    #expect(try answer(elsewhere, options()) == "unproven")
    let repair = kind {
      _ = try LockedVault.open(elsewhere.path, options: options()).repair(with: credentials(), rebuilding: true)
    }
    #expect(repair == .unproven)
    #expect(try answer(elsewhere, options([], first.invitation.vault)) == "replaced")
    #expect(try answer(elsewhere, options([first.invitation])) == "replaced")
    #expect(try answer(elsewhere, options([], second.invitation.vault)) == "second")
    #expect(try answer(elsewhere, options()) == "second")
  }

  @Test func `a pin that is gone leaves a recipient with a first use`() throws {
    _ = try answer(first, options([first.invitation]))
    let name = try #require(
      FileManager.default.contentsOfDirectory(atPath: pins.path.appending("pins").string).first { $0.hasPrefix("id-") })
    unlink(pins.path.appending("pins").appending(name).string)
    #expect(try answer(first, options()) == "unproven")
    #expect(try answer(first, options([], first.invitation.vault)) == "unproven")
    #expect(try answer(first, options([first.invitation])) == "first")
  }

  @Test func `accepting a vault on purpose leaves the pin out, and nothing else`() throws {
    func accept(_ invitations: [Invitation]) -> StoreError.Kind? {
      kind { _ = try LockedVault.open(first.path, options: options(invitations)).unlockAcceptingPin(with: credentials()) }
    }
    _ = try answer(first, options([first.invitation]))
    #expect(accept([]) == .unproven)
    #expect(accept([second.invitation]) == .replaced)
    let later = Invitation(vault: first.invitation.vault, key: .some(2))
    let forged = Invitation(vault: first.invitation.vault, key: .some(1))
    #expect(accept([later]) == .rolledBack)
    #expect(accept([first.invitation, forged]) == .forked)
    #expect(accept([first.invitation]) == nil)
  }
}
