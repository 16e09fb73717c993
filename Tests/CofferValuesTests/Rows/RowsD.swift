internal import CofferValues
internal import CofferTestSupport
internal import Coffer
internal import CofferStorage
internal import Foundation
internal import Testing

// Handler: one source of truth, and who depends on it.

@Suite struct RowsD {
  @Test func `D3 dependants are given their handler, and hear of nothing else`() {
    // No name that anyone may post to, no key path to observe: a typed object, handed to whom it concerns.
    struct Screen {
      let owner = Owner()
      init(userChanged: Handler<String>, seen: Collected<String>) { userChanged.add(owner) { seen.add($0) } }
    }
    let (ours, theirs) = (Handler<String>(), Handler<String>()), seen = Collected<String>()
    let screen = Screen(userChanged: ours, seen: seen)
    theirs.trigger("theirs")
    ours.trigger("ours")
    #expect(seen.all == ["ours"])
    withExtendedLifetime(screen) {}
  }

  @Test func `D4 a handler calls one typed closure an owner`() {
    let handler = Handler<String>()
    let (one, two) = (Owner(), Owner()), seen = Collected<String>()
    handler.add(one) { seen.add("one \($0)") }
    handler.add(two) { seen.add("two \($0)") }
    handler.trigger("Ada")
    // Better: in the order in which they were added.
    #expect(seen.all == ["one Ada", "two Ada"])
  }

  @Test func `D5 a trigger is over when it returns, on the caller's thread`() {
    let handler = Handler<Int>()
    let owner = Owner(), threads = Collected<Bool>()
    let caller = pthread_self()
    handler.add(owner) { _ in threads.add(pthread_equal(pthread_self(), caller) != 0) }
    handler.trigger(1)
    #expect(threads.all == [true])
  }

  @Test func `D6 adding gives a canceller, which may be ignored`() {
    let handler = Handler<Int>()
    let owner = Owner(), seen = Collected<Int>()
    handler.add(owner) { seen.add($0) }
    let cancel: Handler<Int>.Canceller = handler.add(owner) { seen.add($0) }
    cancel()
    handler.trigger(1)
    #expect(seen.all == [])
  }

  @Test func `D7 each object has one closure, and adding again replaces it`() {
    let handler = Handler<Int>()
    let owner = Owner(), seen = Collected<Int>()
    handler.add(owner) { seen.add($0) }
    handler.add(owner) { seen.add($0 * 10) }
    handler.trigger(1)
    #expect(seen.all == [10] && handler.count == 1)
  }

  @Test func `D8 an owner is held weakly`() {
    let handler = Handler<Int>()
    weak var gone: Owner?
    do {
      let owner = Owner()
      gone = owner
      handler.add(owner) { _ in }
    }
    #expect(gone == nil)
  }

  @Test func `D9 the closure of an owner that is gone is never called again`() {
    let handler = Handler<Int>()
    let seen = Collected<Int>()
    do {
      let owner = Owner()
      handler.add(owner) { seen.add($0) }
      handler.trigger(1)
    }
    handler.trigger(2)
    #expect(seen.all == [1] && handler.count == 0)
  }

  @Test func `D10 a canceller may outlive its handler`() {
    let owner = Owner()
    let cancel = Handler<Int>().add(owner) { _ in }
    cancel()
  }

  @Test func `D11 a closure may add, cancel and trigger, and may wait for a thread that does`() {
    let handler = Handler<Int>()
    let (one, two) = (Owner(), Owner()), seen = Collected<Int>()
    handler.add(one) { value in
      seen.add(value)
      handler.add(two) { seen.add($0 * 10) }
      // With the lock held during a trigger this would wait for ever.
      let done = DispatchSemaphore(value: 0)
      DispatchQueue(label: "another").async {
        handler.add(Owner()) { _ in }
        done.signal()
      }
      done.wait()
      if value == 1 { handler.trigger(2) }
    }
    handler.trigger(1)
    #expect(seen.all == [1, 2, 20])
  }

  @Test func `D12 a handler of nothing is triggered with nothing`() {
    let handler = Handler<Void>()
    let owner = Owner(), seen = Collected<Int>()
    handler.add(owner) { seen.add(1) }
    handler.trigger()
    #expect(seen.all == [1])
  }

  @Test func `D13 a value and its handler are one thing`() throws {
    let bench = try Bench()
    let user = try bench.defaults().persistedValue(forKey: "user").string().subject()
    let (main, settings) = (Owner(), Owner()), seen = Collected<String?>()
    // Better: a dependant hears the present value when it registers.
    try user.observe(main) { seen.add($0) }
    try user.observe(settings) { seen.add($0) }
    user.wrappedValue = "Ada"
    eventually { seen.all.filter { $0 == "Ada" }.count >= 2 }
    #expect(seen.all.prefix(2) == [nil, nil])
  }

  @Test func `D14 no library beyond the system's is needed`() throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(
      path: "../../../Sources/CofferStorage/Observation")
    for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil) {
      let imports = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").filter { $0.contains("import ") }
        .compactMap { $0.split(separator: " ").last }
      for module in imports where !["Synchronization", "Dispatch", "CofferPlatform"].contains(module) {
        Issue.record("\(file.lastPathComponent) imports \(module)")
      }
    }
  }

  @Test func `D bug: a stale canceller does not remove a newer registration`() {
    let handler = Handler<Int>()
    let owner = Owner(), seen = Collected<Int>()
    let stale = handler.add(owner) { seen.add($0) }
    handler.add(owner) { seen.add($0 * 10) }
    stale()
    handler.trigger(1)
    #expect(seen.all == [10])
    // And an object that came to lie where a former owner lay is not that owner.
    for _ in 0..<100 {
      var cancel: Handler<Int>.Canceller = {}
      do { cancel = handler.add(Owner()) { _ in } }
      let successor = Owner()
      handler.add(successor) { seen.add($0) }
      cancel()
      #expect(handler.count == 2)
      withExtendedLifetime(successor) {}
    }
  }
}
