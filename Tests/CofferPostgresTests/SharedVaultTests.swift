import Coffer
import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferTesting
import CofferVault
import Foundation
import SystemPackage
import Testing

@testable import CofferPostgres

@Suite(.tags(.process), .defaultRun) struct SharedVaultTests {
  @Test func `a vault on a server is made, opened and used as one in a file`() throws {
    let shared = try SharedVault()
    #expect(kind { _ = try shared.unlock() } == .noVault)
    let vault = try shared.create()
    #expect(vault.place == shared.place && vault.place.description == shared.url && vault.place.path == nil)
    #expect(kind { try shared.create() } == .alreadyExists)
    try vault.set(form("one"), for: name("a"))
    try vault.set(form("two"), for: name("a"), keeping: 3)
    try vault.set(form(""), for: name("empty"))
    try vault.set(form("long " + String(repeating: "x", count: 300_000)), for: name("long"))
    let other = try shared.unlock()
    #expect(try text(other.get(name("a"))) == "two" && text(other.get(name("empty"))) == "" && other.get(name("none")) == nil)
    #expect(try text(other.get(name("long")))?.utf8.count == 300_005)
    let found = try #require(try other.getWithItem(name("a")))
    #expect(text(found.form) == "two" && found.item.revision == 2)
    #expect(try other.getWithItem(name("none")) == nil)
    #expect(try text(other.get(name("a"), revision: 1)) == "one" && other.revisions(of: name("a")).count == 2)
    #expect(try other.list().map(\.name.account) == ["a", "empty", "long"])
    #expect(try other.remove(name("empty")) && !other.remove(name("empty")))
    try other.apply([.move(name("a"), to: name("b")), .set(form("f"), for: name("long").field(named: "x"))])
    #expect(try text(vault.get(name("b"))) == "two" && vault.list().map(\.name.account) == ["b", "long"])
    #expect(try vault.verify().items == 2 && vault.status().oldBytesRemain == false)
    #expect(try vault.log().first?.event == .vaultCreated && vault.logLength() == vault.log().count)
    #expect(try vault.lock().slots.count == 1)
  }

  @Test func `a new key is followed by those who have the vault open, and a removed slot opens nothing`() throws {
    let shared = try SharedVault()
    let vault = try shared.create()
    let other = try shared.unlock()
    for number in 0..<600 { try vault.set(form("\(number)"), for: name("\(number)")) }
    #expect(try text(other.get(name("7"))) == "7")
    let second = try KeyFile.generate()
    let slot = try vault.addSlot(Credentials(keyFile: second.duplicate()), label: "second")
    let third = try LockedVault.open(shared.place, options: .withoutPins).unlock(with: Credentials(keyFile: second.duplicate()))
    #expect(try third.slots().map(\.label).contains("second"))
    try vault.rotate()
    #expect(try text(other.get(name("7"))) == "7" && text(third.get(name("599"))) == "599" && vault.verify().items == 600)
    try vault.removeSlot(slot.id)
    #expect(kind { _ = try third.get(name("7")) } == .locked)
    #expect(
      kind {
        _ = try LockedVault.open(shared.place, options: .withoutPins).unlock(with: Credentials(keyFile: second.duplicate()))
      }
        == .wrongSecret)
    #expect(try text(other.get(name("599"))) == "599" && other.verify().items == 600 && other.status().epoch == 3)
    #expect(try other.log().map(\.event).contains(.slotRemoved))
  }

  @Test
  func `a slot that another machine adds meanwhile goes along with a new key, unless somebody was shown the slots without it`()
    throws
  {
    let shared = try SharedVault()
    let vault = try shared.create()
    let other = try shared.unlock()
    let shown = try vault.slots().map(\.summary.id)
    let key = try KeyFile.generate()
    try other.addSlot(Credentials(keyFile: key.duplicate()))
    #expect(
      kind { try vault.rotate(shown: shown) } == .conflict && kind { try vault.removeSlot(shown[0], shown: shown) } == .conflict)
    #expect(try vault.rotate().slots.count == 2)
    _ = try LockedVault.open(shared.place, options: .withoutPins).unlock(with: Credentials(keyFile: key.duplicate()))
  }

  @Test func `a backup of it is an ordinary vault with the same bytes, and items are exported both ways`() throws {
    let shared = try SharedVault()
    let vault = try shared.create()
    for number in 0..<300 { try vault.set(form("\(number)"), for: name("\(number)"), keeping: 1) }
    try vault.set(form("again"), for: name("0"))
    let file = shared.folder.path.appending("backup.sqlite")
    _ = try LockedVault.open(shared.place, options: .withoutPins).backup(to: file)
    let copy = try LockedVault.open(.file(file), options: .withoutPins).unlock(with: shared.credentials())
    #expect(try copy.verify() == vault.verify() && copy.id == vault.id && text(copy.get(name("0"))) == "again")
    #expect(try copy.status().generation == vault.status().generation)

    let key = try KeyFile.generate()
    let elsewhere = VaultPlace(shared.server.place())
    #expect(try copy.export(to: elsewhere, with: Credentials(keyFile: key.duplicate())) == 300)
    let made = try LockedVault.open(elsewhere, options: .withoutPins).unlock(with: Credentials(keyFile: key.duplicate()))
    let third = VaultPlace(shared.server.place())
    let pinned = try shared.unlock(shared.pins)
    #expect(try pinned.export(to: third, with: Credentials(keyFile: key.duplicate())) == 300)
    let again = try LockedVault.open(third, options: shared.pins).unlock(with: Credentials(keyFile: key.duplicate()))
    #expect(try again.pinStatus() == .upToDate)
    #expect(try made.verify().items == 300 && made.id != vault.id && text(made.get(name("299"))) == "299")
    let back = VaultPlace.file(shared.folder.path.appending("back.sqlite"))
    #expect(try made.export(to: back, with: Credentials(keyFile: key.duplicate())) == 300)
    #expect(kind { _ = try copy.export(to: elsewhere, with: Credentials(keyFile: key.duplicate())) } == .alreadyExists)
    let none = VaultPlace(shared.server.place())
    #expect(kind { _ = try copy.export(to: none, services: ["no"], with: Credentials(keyFile: key.duplicate())) } == .notFound)
    #expect(kind { _ = try LockedVault.open(none, options: .withoutPins) } == .noVault, "what failed left nothing behind")
  }

  @Test func `a header that was damaged is mended from its copy, and a lost state is rebuilt beside a copy of all rows`() throws {
    let shared = try SharedVault()
    let vault = try shared.create()
    try vault.set(form("kept"), for: name("a"))
    try shared.server.sql("UPDATE \(shared.schema).header SET bytes = substring(bytes from 2)")
    let mended = try LockedVault.open(shared.place, options: .withoutPins).repair(with: shared.credentials())
    #expect(mended.mendedHeader && !mended.rebuiltState)
    try shared.server.sql("DELETE FROM \(shared.schema).state")
    let rebuilt = try LockedVault.open(shared.place, options: .withoutPins).repair(with: shared.credentials())
    #expect(rebuilt.rebuiltState && rebuilt.kept?.description.contains("_before_") == true)
    #expect(try text(shared.unlock().get(name("a"))) == "kept" && shared.unlock().verify().items == 1)
  }

  @Test(arguments: ConformanceCheck.allCases) func `a store over it conforms`(check: ConformanceCheck) async throws {
    _ = try DatabaseServer.shared
    var abilities = StoreConformance<Vault>.Abilities()
    abilities.prepares = false
    abilities.largestValue = VaultItem.largestValue
    let store = StoreConformance<Vault>(
      "VaultStore on PostgreSQL", abilities: abilities,
      exceptions: [
        .replacing: "a label or attributes left empty keep those of before", .badNames: "an item may have the empty account",
      ]
    ) {
      let shared = try SharedVault()
      return .init(
        try VaultStore(service: "app", vault: shared.create()),
        reopen: { try VaultStore(service: "app", vault: shared.unlock()) })
    }
    try await store.run(check)
  }

  @Test func `one renews a token at a time, whichever vault of the server it is not`() throws {
    let shared = try SharedVault()
    let another = try SharedVault()
    try shared.create()
    let turn = try RefreshTurn.take(for: "s/a", beside: shared.place, within: .seconds(60))
    #expect(kind { _ = try RefreshTurn.take(for: "s/a", beside: shared.place, within: .milliseconds(200)) } == .busy)
    try RefreshTurn.take(for: "s/a", beside: another.place, within: .seconds(60)).end()
    turn.end()
    let next = try RefreshTurn.take(for: "s/a", beside: shared.place, within: .seconds(60))
    // As when a machine dies: the server sees its connection end.
    try shared.server.sql(
      "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted")
    try RefreshTurn.take(for: "s/a", beside: shared.place, within: .seconds(60)).end()
    next.end()
  }

  @Test func `commits of others are told to who observes, also after the server was started again`() throws {
    let server = try DatabaseServer.make()
    let shared = try SharedVault(on: server)
    let store = try VaultStore(service: "s", vault: shared.create())
    let told = Collected<String>()
    let subscription = try store.changes.subscribe { event in
      if case .changes(let changes) = event { for change in changes { told.add(change.name) } }
    }
    let other = try shared.unlock()
    try other.set(form("1"), for: name("first"))
    eventually("the first change is told") { told.all.contains("first") }
    try server.crash()
    eventually("the server takes writes again") { kind { try other.set(form("1"), for: name("second")) } == nil }
    eventually("the second change is told") { told.all.contains("second") }
    subscription.cancel()
  }

  @Test func `a commit of another that comes right behind an own one is told, and one right before it first`() throws {
    let server = try DatabaseServer.shared
    let direct = try SharedVault(on: server)
    let proxy = try SocketProxy(server.folder, target: server.port)
    defer { proxy.end() }
    let other = try direct.create()
    let place = VaultPlace(direct.url.replacingOccurrences(of: ":\(server.port)/", with: ":\(proxy.port)/"))
    let store = try VaultStore(
      service: "s", vault: LockedVault.open(place, options: .withoutPins).unlock(with: direct.credentials()))
    let told = Collected<Change>()
    let subscription = try store.changes.subscribe { event in
      if case .changes(let changes) = event { for change in changes { told.add(change) } }
    }
    defer { subscription.cancel() }
    try store.save(form("0"), for: "a")
    eventually("it is told") { !told.all.isEmpty }
    let (before, group) = (told.all.count, DispatchGroup())
    // Another store commits while the answer to this commit is on its way.
    try store.update("a") { (_) throws(StoreError) in
      group.enter()
      Thread.detachNewThread {
        do { try other.set(form("2"), for: name("a")) } catch { Issue.record(error) }
        group.leave()
      }
      proxy.hold(300_000)
      do { return try form("1") } catch { throw StoreError(.memory, "no secret memory", cure: "free some") }
    }
    proxy.hold(0)
    group.wait()
    eventually("the other's commit is told") { told.all.count >= before + 2 }
    #expect(told.all.dropFirst(before) == [Change("a", .set, by: .thisProcess), Change("a", .set, by: .otherProcess(id: nil))])
    // An earlier, still unknown commit is reported first.
    proxy.hold(100_000)
    try other.set(form("3"), for: name("b"))
    try store.save(form("4"), for: "c")
    proxy.hold(0)
    eventually("both are told") { told.all.count >= before + 4 }
    #expect(told.all.dropFirst(before + 2).map(\.name) == ["b", "c"])
  }

  @Test(.tags(.process), .wholeRun) func `a commit that could not be looked at is told once the server answers again`() throws {
    let server = try DatabaseServer.make()
    let shared = try SharedVault(on: server, options: "coffer_timeout=3")
    let store = try VaultStore(service: "s", vault: shared.create())
    let (told, others) = (Collected<String>(), Collected<ChangeFeed.Event>())
    let subscription = try store.changes.subscribe { event in
      if case .changes(let changes) = event { for change in changes { told.add(change.name) } } else { others.add(event) }
    }
    defer { subscription.cancel() }
    // The answering process of the server, not the notifying one.
    let answering = try server.sql(
      "SELECT pid FROM pg_stat_activity WHERE application_name = 'coffer' AND query NOT LIKE 'LISTEN%'"
    ).split(separator: "\n").compactMap { Int32($0) }
    #expect(!answering.isEmpty)
    for pid in answering { stop(pid) }
    defer { for pid in answering { kill(pid, SIGCONT) } }
    try shared.unlock().set(form("1"), for: name("missed"))
    eventually("it is told") { told.all.contains("missed") }
    #expect(told.all == ["missed"] && others.all == [])
  }
}
