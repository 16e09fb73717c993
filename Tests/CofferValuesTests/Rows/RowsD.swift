internal import CofferValues
internal import CofferTestSupport
internal import Coffer
internal import CofferDefaults
internal import CofferMemory
internal import CofferObservation
internal import CofferVault
internal import CofferStorage
internal import Foundation
internal import Testing

// Handler: one source of truth, and its dependants.

@Suite struct RowsD {
  @Test func `D3 dependants are given their handler, and hear of nothing else`() {
    // No global notification name, no key path: a typed object, passed to its users.
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

  @MainActor @Test
  func `D6 a view controller's closure touches the view controller, which is the main actor's and not Sendable`() {
    // As written for a view controller, except that it names the closure's owner and receives it.
    class ViewController {
      var title = ""
      var cancel: Handler<String>.Canceller?
      @MainActor func viewDidLoad(_ userChanged: Handler<String>) {
        cancel = userChanged.add(self, on: .shared) { controller, user in controller.title = user }
      }
    }
    let handler = Handler<String>(), controller = ViewController()
    controller.viewDidLoad(handler)
    handler.trigger("Ada")
    #expect(controller.title == "Ada")
    controller.cancel?()
    #expect(handler.count == 0)
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
      // With the lock held during a trigger this would wait forever.
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
    // Better: a dependant gets the current value on registration.
    try user.observe(main) { seen.add($0) }
    try user.observe(settings) { seen.add($0) }
    user.wrappedValue = "Ada"
    eventually { seen.all.filter { $0 == "Ada" }.count >= 2 }
    #expect(seen.all.prefix(2) == [nil, nil])
  }

  @Test func `D14 no library beyond the system's is needed`() throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Sources/CofferObservation")
    for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil) {
      let imports = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").filter { $0.contains("import ") }
        .compactMap { $0.split(separator: " ").last }
      #expect(
        imports.allSatisfy { ["Dispatch", "Synchronization"].contains($0) }, "\(file.lastPathComponent) imports \(imports)")
    }
  }

  @Test(.tags(.process), .defaultRun)
  func `D14 a program that uses a handler alone links the system's libraries alone`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "coffer-leaf-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer { do { try FileManager.default.removeItem(at: folder) } catch { print("left behind: \(folder): \(error)") } }
    let program = """
      import CofferObservation
      final class Owner: Sendable {}
      let owner = Owner(), handler = Handler<Int>()
      handler.add(owner) { print("told", $0) }
      handler.trigger(7)
      """
    let source = folder.appending(path: "main.swift"), binary = folder.appending(path: "leaf").path()
    try Data(program.utf8).write(to: source)
    let build = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
    let objects = try FileManager.default.subpathsOfDirectory(atPath: build.appending(path: "CofferObservation.build").path())
      .filter { $0.hasSuffix(".o") }.map { build.appending(path: "CofferObservation.build/" + $0).path() }
    #expect(!objects.isEmpty)
    let modules = build.appending(path: "Modules").path()
    try Self.run(["swiftc", "-swift-version", "6", "-I", modules, source.path(), "-o", binary] + objects)
    #expect(try Self.run([binary]) == "told 7\n")
    // Besides the C library, only the libraries that every Swift program links: the language, tasks and locks.
    let linked = try Self.run(["ldd", binary]).split(separator: "\n").compactMap { $0.split(separator: " ").first }
    for library in ["sodium", "sqlite3", "Foundation", "System"] {
      #expect(!linked.contains { $0.contains(library) }, "links \(library): \(linked)")
    }
  }

  @discardableResult
  private static func run(_ words: [String]) throws -> String {
    let process = Process(), output = Pipe()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = words
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    try #require(process.terminationStatus == 0, "\(words[0]): \(text)")
    return text
  }

  @Test func `D bug: a stale canceller does not remove a newer registration`() {
    let handler = Handler<Int>()
    let owner = Owner(), seen = Collected<Int>()
    let stale = handler.add(owner) { seen.add($0) }
    handler.add(owner) { seen.add($0 * 10) }
    stale()
    handler.trigger(1)
    #expect(seen.all == [10])
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
