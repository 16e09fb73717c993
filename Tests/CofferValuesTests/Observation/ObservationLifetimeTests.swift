internal import CofferTestSupport
internal import Coffer
internal import CofferStorage
internal import CofferValues
internal import Foundation
internal import Testing

/// An observation lives exactly as long as its owner; the object that it is made through need not be kept.
@Suite struct ObservationLifetimeTests {
  struct Keys: KeySpace {
    let number = StorageKey("number", default: 0)
    let user = StorageKey("user", of: String.self).endsWithSession()
    let token = StorageKey("token", secret: String.self).endsWithSession()
  }
  private static let keys = Keys()

  /// A closure's captured value, counted while it exists.
  private final class Held: Sendable {
    let count: Collected<Int>
    init(_ count: Collected<Int>) {
      self.count = count
      count.add(1)
    }
    deinit { count.add(-1) }
  }

  private static func session(_ app: StorageRouter) throws -> Session<String> {
    try Session(app, user: keys.user, credential: keys.token)
  }

  @Test func `a subject, a container's subject, a router and a session that nobody keeps go on telling a living owner`() throws {
    let bench = try Bench()
    let app = try bench.app(Self.keys)
    var owner: Owner? = Owner()
    let (bySubject, byRouter, byContainer) = (Collected<Int>(), Collected<Int>(), Collected<Int?>())
    let bySession = Collected<Session<String>.State>()
    // Kept, not recorded: after the test its files are removed, which may be reported.
    let failures = Collected<String>()
    func begin(_ owner: Owner) throws {
      let subject = app.persistedValue(for: Self.keys.number).subject()
      try subject.observe(owner) { bySubject.add($0) }
      let router = try StorageRouter(plain: bench.defaults(), vault: bench.vault, keys: Self.keys)
      try router.observe(Self.keys.number, owner: owner) { value in
        do { byRouter.add(try value.get()) } catch { failures.add("\(error)") }
      }
      try Self.session(router).observe(owner) { state in
        do { bySession.add(try state.get()) } catch { failures.add("\(error)") }
      }
      let storage = try PersistentStorage(suiteName: Bench.domain, in: bench.places.defaults)
      let container: KeyValueContainer<Int> = storage.makeContainer(key: "number")
      try container.subject().observe(owner) { byContainer.add($0) }
    }
    try begin(try #require(owner))
    for step in 1...2 {
      try app.set(step, for: Self.keys.number)
      eventually { bySubject.all.last == step && byRouter.all.last == step && byContainer.all.last == step }
    }
    try Self.session(app).login(as: "ada") { try $0.set(Sealed("t"), for: Self.keys.token) }
    eventually { bySession.all == [.loggedOut, .loggedIn("ada")] }
    #expect(failures.all == [])
    #expect(bySubject.all == [0, 1, 2] && byRouter.all == [0, 1, 2] && byContainer.all == [nil, 1, 2])
    // Before its files are removed, which an observer would be told.
    owner = nil
    withExtendedLifetime(bench) {}
  }

  @Test func `a session's sequence outlives the variable that held the session`() async throws {
    let app = try StorageRouter.inMemory(keys: Self.keys)
    var states = try Self.session(app).changes().makeAsyncIterator()
    #expect(try await states.next()?.get() == .loggedOut)
    try await Self.session(app).login(as: "ada") { try $0.set(Sealed("t"), for: Self.keys.token) }
    #expect(try await states.next()?.get() == .loggedIn("ada"))
  }

  @Test func `with its owner goes all that an observation held, though nothing changes any more`() throws {
    let bench = try Bench()
    let held = Collected<Int>()
    weak var router: StorageRouter?
    weak var session: Session<String>?
    weak var subject: PersistedValues.Subject<Int>?
    var owner: Owner? = Owner()
    func begin(_ owner: Owner) throws {
      let app = try bench.app(Self.keys), login = try Self.session(app)
      let value = app.persistedValue(for: Self.keys.number).subject()
      (router, session, subject) = (app, login, value)
      let holds = (0..<3).map { _ in Held(held) }
      try app.observe(Self.keys.number, owner: owner) { _ in withExtendedLifetime(holds[0]) {} }
      try login.observe(owner) { _ in withExtendedLifetime(holds[1]) {} }
      try value.observe(owner) { _ in withExtendedLifetime(holds[2]) {} }
    }
    if let owner { try begin(owner) }
    #expect(router != nil && session != nil && subject != nil && held.all.reduce(0, +) == 3)
    owner = nil
    eventually { router == nil && session == nil && subject == nil && held.all.reduce(0, +) == 0 }
  }

  @Test func `a cancelled observation releases everything at once, though its owner lives on`() throws {
    let bench = try Bench()
    let owner = Owner(), held = Collected<Int>()
    weak var router: StorageRouter?
    func begin() throws -> [Handler<Void>.Canceller] {
      let app = try bench.app(Self.keys), hold = Held(held)
      router = app
      return [
        try app.observe(Self.keys.number, owner: owner) { _ in withExtendedLifetime(hold) {} },
        try app.persistedValue(for: Self.keys.number).subject().observe(owner) { _ in withExtendedLifetime(hold) {} },
        try Self.session(app).observe(owner) { _ in withExtendedLifetime(hold) {} },
      ]
    }
    let cancellers = try begin()
    #expect(router != nil)
    for cancel in cancellers + cancellers { cancel() }
    eventually { router == nil && held.all.reduce(0, +) == 0 }
  }

  @Test func `an owner has one closure for a value, and a second one takes the place of the first`() throws {
    let bench = try Bench()
    let app = try bench.app(Self.keys), owner = Owner(), old = Collected<Int>(), new = Collected<Int>()
    let subject = app.persistedValue(for: Self.keys.number).subject()
    let stale = try subject.observe(owner) { old.add($0) }
    try subject.observe(owner) { new.add($0) }
    stale()
    subject.wrappedValue = 1
    eventually { new.all == [0, 1] }
    #expect(old.all == [0])
  }

  @Test func `who cancels, or lets its owner go, in the midst of a delivery is told nothing more`() throws {
    let bench = try Bench()
    let number = try bench.defaults().persistedValue(forKey: "n").integer().default(0)
    let pulse = Handler<Void>(), subject = number.subject(didChange: pulse)
    for lets in [false, true] {
      number.wrappedValue = 0
      let owners = Collected<Owner>(), seen = Collected<Int>()
      let begun = DispatchSemaphore(value: 0), go = DispatchSemaphore(value: 0), over = DispatchSemaphore(value: 0)
      var owner: Owner? = Owner()
      weak let watched = owner
      var cancel: Handler<Void>.Canceller = {}
      if let owner {
        cancel = try subject.observe(owner) { value in
          seen.add(value)
          guard value == 1 else { return }
          begun.signal()
          go.wait()
        }
      }
      number.wrappedValue = 1
      DispatchQueue.global().async {
        pulse.trigger()
        over.signal()
      }
      begun.wait()
      if lets { owner = nil } else { cancel() }
      number.wrappedValue = 2
      pulse.trigger()
      go.signal()
      over.wait()
      pulse.trigger()
      #expect(seen.all == [0, 1])
      if lets { eventually { watched == nil } }
      withExtendedLifetime((owner, owners)) {}
    }
  }

  @Test func `a store that is closed while it is observed ends the observation, and tells nothing of that`() throws {
    let bench = try Bench()
    let owner = Owner(), seen = Collected<Int>(), held = Collected<Int>()
    let app = try bench.app(Self.keys)
    func begin() throws {
      let hold = Held(held)
      let subject = app.persistedValue(for: Self.keys.number).subject()
      try subject.observe(owner) { value in withExtendedLifetime(hold) { seen.add(value) } }
      try app.observe(Self.keys.number, owner: owner) { _ in withExtendedLifetime(hold) {} }
    }
    try begin()
    try app.set(5, for: Self.keys.number)
    eventually { seen.all == [0, 5] }
    try app.close()
    eventually { held.all.reduce(0, +) == 0 }
    #expect(seen.all == [0, 5])
    withExtendedLifetime(owner) {}
  }
}
