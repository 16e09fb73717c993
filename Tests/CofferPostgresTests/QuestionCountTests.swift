import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import CofferVaultFormat
import Testing

@testable import CofferPostgres

/// The statements that are sent at once, as a proxy counts them: each costs a vault far from its database a round trip.
@Suite struct QuestionCountTests {
  private let shared: SharedVault
  private let proxy: SocketProxy
  private let place: VaultPlace

  init() throws {
    shared = try SharedVault()
    let vault = try shared.create()
    _ = try vault.add((0..<1000).map { ImportedItem(name: try name("item \($0)"), form: try form("value \($0)")) })
    proxy = try SocketProxy(shared.server.folder, target: shared.server.port)
    place = VaultPlace(shared.url.replacingOccurrences(of: ":\(shared.server.port)/", with: ":\(proxy.port)/"))
  }

  private func unlock(_ options: VaultOptions = .withoutPins) throws -> UnlockedVault {
    try LockedVault.open(place, options: options).unlock(with: shared.credentials())
  }

  /// Counts what `body` sends: each time a round trip, but for the `COMMIT` of a read, which nobody awaits.
  private func sends(_ what: String, _ most: Int, _ location: SourceLocation = #_sourceLocation, _ body: () throws -> Void) throws
  {
    _ = proxy.count()
    try body()
    #expect(proxy.count().syncs == most, "\(what)", sourceLocation: location)
  }

  @Test func `a call asks for all that it needs at once`() throws {
    defer { proxy.end() }
    var locked: LockedVault?
    try sends("open: settings, header", 3) { locked = try LockedVault.open(place, options: .withoutPins) }
    guard let locked else { return }
    var vault: UnlockedVault?
    try sends("unlock: header, digests, on the same connection", 4) { vault = try locked.unlock(with: shared.credentials()) }
    guard let vault else { return }
    try sends("get: list and record", 2) { _ = try vault.get(name("item 7")) }
    try sends("get: record", 1) { _ = try vault.get(name("item 7")) }
    try sends("its description, then its former values", 3) {
      #expect(try vault.item(name("item 7")) != nil)
      _ = try vault.revisions(of: name("item 8"))
    }
    try sends("set: lock, rows", 2) { _ = try vault.set(form("new"), for: name("item 7")) }
    try sends("status", 2) { _ = try vault.status() }
    try sends("list: state, lists, records", 4) { _ = try vault.list() }
    try sends("list: state, records", 3) { _ = try vault.list() }
    let other = try unlock()
    try sends("find: state, lists, records", 4) { _ = try other.find(ItemQuery(service: "s")) }
    try sends("find: state, records", 3) { _ = try other.find(ItemQuery(service: "s")) }
    try vault.set(form("x"), for: name("item 1"))
    try sends("get after another's commit: record, changes, digests", 4) { _ = try other.get(name("item 1")) }
    try sends("find after another's commit: state, records", 3) { _ = try other.find(ItemQuery(service: "s")) }
    #expect(try vault.list().count == 1000 && other.find(ItemQuery(service: "s")).count == 1000)
    try sends("verify", 15) { _ = try vault.verify() }
  }
}
