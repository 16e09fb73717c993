internal import CofferValues
internal import CofferTestSupport
internal import Coffer
internal import CofferStorage
internal import Foundation
internal import Testing

@Suite struct UnmovedTests {
  private func reader(_ bench: Bench, arguments: [String] = [], _ spaces: any KeySpace...) throws -> StorageRouter {
    let plain = try DefaultsStore.open(
      domain: Bench.domain, in: bench.places.defaults, arguments: arguments, access: .readOnly)
    return try StorageRouter(plain: plain, vault: bench.vault, spaces: spaces)
  }

  @Test func `a renamed value is read under its former name in a domain that cannot be written`() throws {
    let bench = try Bench()
    try bench.defaults().setValue(41, forKey: "count")
    let key = StorageKey("launches", default: 0).renamed(from: "count")
    let app = try reader(bench, Space(key))
    #expect(app.migrations.pending.map(\.kind) == [.readOnly])
    #expect(try app.value(for: key) == 41)
    #expect(try app.contains(key) && !app.isDefault(key))
    let theme = StorageKey("theme", default: "light")
    let both = try reader(bench, Space(key), Space(theme))
    #expect(try both.values(key, theme) == (41, "light"))
    #expect(try both.transaction { try $0.value(for: key) } == 41)
    for write in [{ try app.set(1, for: key) }, { try app.remove(key) }, { try app.update(key) { $0 += 1 } }] {
      try expect(.readOnly) { try write() }
    }
    #expect(try bench.defaults().names() == ["count"])
  }

  @Test func `it is followed there, also when a program that may write moves it`() async throws {
    let bench = try Bench()
    let defaults = try bench.defaults()
    try await defaults.setValue(1, forKey: "count")
    let key = StorageKey("launches", default: 0).renamed(from: "count")
    let app = try reader(bench, Space(key))
    var values = try app.changes(of: key).makeAsyncIterator()
    #expect(try await values.next()?.get() == 1)
    try await defaults.setValue(2, forKey: "count")
    #expect(try await values.next()?.get() == 2)
    let writer = try bench.app(Space(key))
    #expect(writer.migrations.done.map(\.change) == [.renamed(from: "count")])
    try await writer.set(3, for: key)
    #expect(try app.value(for: key) == 3)
    try await app.close()
  }

  @Test func `of what could be read there, overrides come first, then the key's own name, then the former ones`() throws {
    let bench = try Bench()
    let defaults = try bench.defaults()
    let key = StorageKey("now", default: 0).renamed(from: "first", "second")
    try defaults.setValue(2, forKey: "second")
    #expect(try reader(bench, Space(key)).value(for: key) == 2)
    try defaults.setValue(1, forKey: "first")
    #expect(try reader(bench, Space(key)).value(for: key) == 1)
    let overridden = try reader(bench, arguments: ["-now", "7"], Space(key))
    #expect(try overridden.value(for: key) == 7)
    try defaults.setValue(0, forKey: "now")
    #expect(try reader(bench, Space(key)).value(for: key) == 0)
  }

  @Test func `a value is read by the key's name alone wherever it still lies, and once it can be moved it is`() throws {
    let bench = try Bench()
    try bench.defaults().setValue(41, forKey: "count")
    let access = StorageKey("access_token", secret: String.self)
    try bench.app(Space(access)).set(Sealed("hush"), for: access)
    try bench.vault.lock()
    let count = StorageKey("launches", default: 0).renamed(from: "count")
    let token = StorageKey("token", secret: String.self).renamed(from: "access_token")
    let app = try reader(bench, Space(count), Space(token))
    guard case .plain(.integer(41))? = try DeclaredForm.load("launches", from: app) else {
      Issue.record("it is read under its former name")
      return
    }
    try expect(.locked) { _ = try DeclaredForm.load("token", from: app) }
    try bench.unlock()
    guard case .secret(let form)? = try DeclaredForm.load("token", from: app) else {
      Issue.record("it is moved and read")
      return
    }
    #expect(try form.decoded(String.self) == "hush" && bench.vault.names() == ["token"])
    #expect(try DeclaredForm.load("count", from: app) == nil && DeclaredForm.load("nobody", from: app) == nil)
  }

  @Test func `a secret in the clear that cannot be moved is an error`() throws {
    let bench = try Bench()
    try bench.defaults().setValue("hush", forKey: "access_token")
    let key = StorageKey("token", secret: String.self).renamed(from: "access_token")
    let app = try reader(bench, Space(key))
    try expect(.readOnly) { _ = try app.value(for: key) }
    #expect(try bench.vault.names() == [])
  }

  @Test func `observers are told of a rename that both names were migrated`() throws {
    let bench = try Bench()
    let defaults = try bench.defaults()
    try defaults.setValue(1, forKey: "count")
    let heard = Collected<Change>()
    let subscription = try defaults.changes.subscribe { event in
      if case .changes(let changes) = event { for change in changes { heard.add(change) } }
    }
    let key = StorageKey("launches", default: 0).renamed(from: "count")
    let app = try bench.app(Space(key))
    eventually {
      Set(heard.all) == [Change("count", .migrated, by: .thisProcess), Change("launches", .migrated, by: .thisProcess)]
    }
    try app.set(2, for: key)
    eventually { heard.all.last == Change("launches", .set, by: .thisProcess) }
    subscription.cancel()
  }

  @Test func `observers of both stores are told that a value moved into the vault`() throws {
    let bench = try Bench()
    let defaults = try bench.defaults()
    try defaults.setValue("hush-hush", forKey: "token")
    let (plain, vault) = (Collected<Change>(), Collected<Change>())
    let one = try defaults.changes.subscribe {
      if case .changes(let changes) = $0 { for change in changes { plain.add(change) } }
    }
    let two = try bench.vault.changes.subscribe {
      if case .changes(let changes) = $0 { for change in changes { vault.add(change) } }
    }
    _ = try bench.app(Space(StorageKey("token", secret: String.self)))
    let migrated = Change("token", .migrated, by: .thisProcess)
    eventually { plain.all.contains(migrated) && vault.all.contains(migrated) }
    #expect(plain.all.contains(migrated))
    #expect(vault.all == [migrated])
    one.cancel()
    two.cancel()
  }

  @Test func `a store in memory tells of a rename too`() throws {
    let bench = try Bench()
    let memory = MemoryStore<Plain>(), heard = Collected<Change>()
    let subscription = try memory.changes.subscribe {
      if case .changes(let changes) = $0 { for change in changes { heard.add(change) } }
    }
    try memory.save(.integer(1), for: "old")
    _ = try StorageRouter(
      plain: memory, vault: bench.vault, spaces: [Space(StorageKey("new", default: 0).renamed(from: "old"))])
    eventually { heard.all.count == 3 }
    #expect(heard.all.dropFirst().allSatisfy { $0.cause == .migrated })
    subscription.cancel()
  }
}
