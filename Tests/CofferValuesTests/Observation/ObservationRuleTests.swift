internal import CofferTestSupport
internal import Coffer
internal import CofferDefaults
internal import CofferMemory
internal import CofferObservation
internal import CofferVault
internal import CofferStorage
internal import CofferValues
internal import Foundation
internal import Testing

/// Every way to observe gives the current value first, then the newest whenever it differs, and no value twice in a row.
@Suite struct ObservationRuleTests {
  struct Keys: KeySpace {
    let number = StorageKey("number", default: 0)
    let look = StorageKey("look", default: "light").renamed(from: "theme")
    let user = StorageKey("user", of: String.self).endsWithSession()
    let token = StorageKey("token", secret: String.self).endsWithSession()
  }
  private let keys = Keys()

  /// Starts with `first`, ends with `last`, and repeats nothing.
  private func follows<Value: Equatable>(_ seen: [Value], from first: Value, to last: Value) -> Bool {
    seen.first == first && seen.last == last && zip(seen, seen.dropFirst()).allSatisfy { $0 != $1 }
  }

  @Test func `a router's observer gets the present value, ends with the newest, and gets none twice in a row`() throws {
    let bench = try Bench()
    let app = try bench.app(keys), owner = Owner(), seen = Collected<Int>()
    try app.observe(keys.number, owner: owner) { value in
      do { seen.add(try value.get()) } catch { Issue.record(error) }
    }
    #expect(seen.all == [0])
    for number in 1...200 { try app.set(number, for: keys.number) }
    eventually { seen.all.last == 200 }
    try app.set(0, for: keys.number)
    try app.remove(keys.number)
    try app.set(7, for: keys.number)
    eventually { seen.all.last == 7 }
    #expect(follows(seen.all, from: 0, to: 7), "\(seen.all)")
  }

  @Test func `a value that becomes its key's default by being stored, or moves to another name, is no other value`() throws {
    let bench = try Bench()
    try bench.defaults().save(.string("light"), for: "theme")
    let app = try StorageRouter(plain: bench.defaults(), vault: MemoryStore<Vault>(), keys: keys)
    let owner = Owner(), looks = Collected<String>(), numbers = Collected<Int>()
    try app.observe(keys.look, owner: owner) { value in
      do { looks.add(try value.get()) } catch { Issue.record(error) }
    }
    try app.observe(keys.number, owner: owner) { value in
      do { numbers.add(try value.get()) } catch { Issue.record(error) }
    }
    try app.remove(keys.look)
    try app.set("light", for: keys.look)
    try app.set(0, for: keys.number)
    try app.set("dark", for: keys.look)
    try app.set(1, for: keys.number)
    eventually { looks.all.last == "dark" && numbers.all.last == 1 }
    #expect(looks.all == ["light", "dark"] && numbers.all == [0, 1])
  }

  @Test func `a subject's observer gets none twice in a row, also of a type that cannot be compared`() throws {
    struct Opaque: Codable, PlainValue { var number = 0 }
    let bench = try Bench()
    let owner = Owner(), seen = Collected<Int>(), opaque = Collected<Int>()
    let number = try bench.defaults().persistedValue(forKey: "n").integer().default(0).subject()
    let value = try bench.defaults().persistedValue(forKey: "o").codable(Opaque.self).default(Opaque()).subject()
    try number.observe(owner) { seen.add($0) }
    try value.observe(owner) { opaque.add($0.number) }
    for step in 1...200 {
      number.wrappedValue = step
      value.wrappedValue = Opaque(number: step)
      value.wrappedValue = Opaque(number: step)
    }
    eventually { seen.all.last == 200 && opaque.all.last == 200 }
    #expect(follows(seen.all, from: 0, to: 200), "\(seen.all)")
    #expect(follows(opaque.all, from: 0, to: 200), "\(opaque.all)")
  }

  @Test func `a cache's set and eviction give no value twice in a row`() throws {
    for _ in 0..<50 {
      let cache = CacheStore<Plain>(limit: 1)
      let owner = Owner(), seen = Collected<String?>()
      let first = cache.persistedValue(forKey: "first").string().subject()
      try first.observe(owner) { seen.add($0) }
      first.wrappedValue = "1"
      cache.persistedValue(forKey: "second").string().wrappedValue = "2"
      first.wrappedValue = "end"
      eventually { seen.all.last == "end" }
      #expect(follows(seen.all, from: nil, to: "end"), "\(seen.all)")
    }
  }

  @Test func `a session's observer gets no state twice in a row, and ends with the newest`() async throws {
    let app = try StorageRouter.inMemory(keys: keys)
    let session = try Session(app, user: keys.user, credential: keys.token)
    let keys = keys, owner = Owner(), seen = Collected<Session<String>.State>()
    try session.observe(owner) { state in
      do { seen.add(try state.get()) } catch { Issue.record(error) }
    }
    #expect(seen.all == [.loggedOut])
    for number in 0..<100 {
      try await session.login(as: "u\(number)") { try $0.set(Sealed("t"), for: keys.token) }
      try await session.logout()
    }
    try await session.login(as: "last") { try $0.set(Sealed("t"), for: keys.token) }
    eventually { seen.all.last == .loggedIn("last") }
    _ = try await session.refresh(keys.token, replacing: app.value(for: keys.token)) { _ in try Sealed("renewed") }
    try await session.logout()
    eventually { seen.all.last == .loggedOut }
    #expect(follows(seen.all, from: .loggedOut, to: .loggedOut), "\(seen.all)")
  }

  @Test func `an observer of a vault's value is told of it by its version, and keeps no copy of it`() throws {
    let bench = try Bench()
    let owner = Owner(), seen = Collected<String?>(), failures = Collected<StoreError>()
    let token = bench.vault.persistedValue(forKey: "token").string().onFailure(use: nil) { failures.add($0) }.subject()
    try token.observe(owner) { seen.add($0) }
    token.wrappedValue = "one"
    eventually { seen.all.last == "one" }
    try bench.vault.lock()
    eventually { failures.all.map(\.kind).contains(.locked) }
    try bench.unlock()
    token.wrappedValue = "two"
    eventually { seen.all.last == "two" }
    #expect(zip(seen.all, seen.all.dropFirst()).allSatisfy { $0 != $1 }, "\(seen.all)")
  }

  @Test func `calls to one observer never overlap, whichever threads set`() throws {
    let bench = try Bench()
    let number = try bench.defaults().persistedValue(forKey: "n").integer().default(0)
    let pulse = Handler<Void>(), inside = Collected<Int>(), owner = Owner(), depth = NSLock()
    let subject = number.subject(didChange: pulse), seen = Collected<Int>()
    try subject.observe(owner) { value in
      if depth.try() {
        seen.add(value)
        usleep(200)  // No event: another thread may come.
        depth.unlock()
      } else {
        inside.add(value)
      }
    }
    DispatchQueue.concurrentPerform(iterations: 4) { _ in
      for _ in 0..<50 {
        do { try number.mutate { $0 += 1 } } catch { Issue.record(error) }
        pulse.trigger()
      }
    }
    eventually { seen.all.last == 200 }
    #expect(inside.all.isEmpty && follows(seen.all, from: 0, to: 200), "\(seen.all)")
  }

  private class Screen { var seen: [String] = [] }

  @MainActor @Test
  func `on the main actor the present value comes first too, from a router and a subject, to an owner that is not Sendable`()
    async throws
  {
    let bench = try Bench(), screen = Screen()
    let app = try bench.app(keys)
    let subject = app.persistedValue(for: keys.number).subject()
    try app.observe(keys.look, on: .shared, owner: screen) { screen, look in screen.seen.append("\(look)") }
    try subject.observe(screen, on: .shared) { screen, number in screen.seen.append("\(number)") }
    #expect(screen.seen == ["success(\"light\")", "0"])
    try await app.set(1, for: keys.number)
    try await poll("it comes to be") { screen.seen.last == "1" }
    try app.plain.save(.string("many"), for: "number")
    try await app.set("dark", for: keys.look)
    try await poll("it comes to be") { screen.seen.last == "success(\"dark\")" }
    // An unreadable value is answered with the last one, which is no change.
    #expect(screen.seen == ["success(\"light\")", "0", "1", "success(\"dark\")"])
  }
}
