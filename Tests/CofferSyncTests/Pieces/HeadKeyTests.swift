import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import Testing

@testable import CofferSync
@testable import CofferVault
@testable import CofferVaultFormat

/// Under which key a head is opened.
@Suite struct HeadKeyTests {
  private let here: PutVault, there: PutVault
  private let ada = ItemName(sealed: "svc", "ada")
  init() throws { (here, there) = (try PutVault(), try PutVault()) }

  /// The content of a new key file.
  private static func keyFile() throws -> [UInt8] {
    try KeyFile.generate().withUnsafeBytes { Array($0) }
  }

  private func create() throws -> UnlockedVault {
    let vault = try here.create()
    try vault.set(form("one"), for: ada)
    return vault
  }

  private func copied() throws -> UnlockedVault {
    try here.copy(to: there)
    return try there.unlock()
  }

  private func refusal(of put: Put, by vault: borrowing UnlockedVault) throws -> StoreError.Kind? {
    let found = try kind { _ = try HeadVault.open(put.pieces(), by: vault).verify() }
    // The outline, which no group is brought for, tells the same.
    let pieces = Put(head: put.head, groups: [:]).pieces()
    var isApart = false
    let refusal = try kind { isApart = try HeadVault.outline(of: pieces, by: vault).line == .apart }
    #expect(isApart ? refusal == nil && found == .forked : refusal == found)
    return found
  }

  @Test func `a head of a later key is followed where the key comes from this one's`() throws {
    let vault = try create()
    let there = try copied()
    _ = try there.rotate()
    _ = try there.rotate()
    try there.set(form("two"), for: ada)
    let put = try Put.make(there)
    let head = try HeadVault.open(put.pieces(), by: vault)
    _ = try head.verify()
    #expect(try text(head.get(ada)) == "two")
    let (key, state) = try HeadVault.read(head) { (rows) throws(StoreError) in (rows.key, rows.state) }
    let outline = try HeadVault.outline(of: Put(head: put.head, groups: [:]).pieces(), by: vault)
    #expect(key.epoch == 3 && outline.key == key && outline.line == .later && outline.state == state)
    #expect(state.replicas.map(\.id) == [Put.machine])
  }

  @Test func `keys that two machines made apart are a fork, of one epoch or of two`() throws {
    let vault = try create()
    let there = try copied()
    _ = try vault.rotate()
    _ = try there.rotate()
    #expect(try refusal(of: Put.make(there), by: vault) == .forked)
    _ = try there.rotate()
    #expect(try refusal(of: Put.make(there), by: vault) == .forked)
  }

  @Test func `another vault is replaced`() throws {
    let vault = try here.create()
    #expect(try refusal(of: Put.make(there.create()), by: vault) == .replaced)
  }

  @Test func `where the slot is gone a secret of another slot opens the head, and the key must still come from this one's`()
    throws
  {
    let vault = try create()
    let first = try vault.slots()[0].summary.id
    let content = try Self.keyFile()
    _ = try vault.addSlot(Credentials(keyFile: secret(content)))
    try here.copy(to: there)
    let there = try LockedVault.open(.file(there.path), options: .withoutPins).unlock(with: Credentials(keyFile: secret(content)))
    _ = try there.removeSlot(first)
    try there.set(form("two"), for: ada)
    let put = try Put.make(there)
    #expect(try refusal(of: put, by: vault) == .locked)
    let slot = try HeadVault.slot(of: put.pieces(), by: vault, with: Credentials(keyFile: secret(content)))
    let head = try HeadVault.open(put.pieces(), by: vault, with: slot)
    _ = try head.verify()
    #expect(try text(head.get(ada)) == "two")
    _ = try vault.rotate()
    #expect(try kind { _ = try HeadVault.open(put.pieces(), by: vault, with: slot) } == .forked)
  }

  @Test func `where there is no vault yet a head opens with a secret, and is what an invitation says`() throws {
    let vault = try here.create()
    try vault.set(form("one"), for: ada)
    let invitation = try vault.invitation()
    let put = try Put.make(vault)
    var options = VaultOptions.withoutPins
    options.invitations = [invitation]
    let head = try HeadVault.open(put.pieces(), with: PutVault.credentials(), options: options)
    #expect(try text(head.get(ada)) == "one")
    #expect(
      try kind {
        _ = try HeadVault.open(put.pieces(), with: Credentials(keyFile: secret(Self.keyFile())), options: .withoutPins)
      } == .wrongSecret)
    options.invitations = [try there.create().invitation()]
    #expect(try kind { _ = try HeadVault.open(put.pieces(), with: PutVault.credentials(), options: options) } == .replaced)
    _ = try vault.rotate()
    options.invitations = [try vault.invitation()]
    #expect(try kind { _ = try HeadVault.open(put.pieces(), with: PutVault.credentials(), options: options) } == .rolledBack)
  }
}
