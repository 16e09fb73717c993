import CofferAgent
import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import Testing

@testable import CofferSecretService

/// While the vault is locked, nothing hangs, and a locked vault never looks empty.
@Suite(.tags(.process), .wholeRun) struct LockedTests {
  @Test func `what needs no secret is answered while the vault is locked`() throws {
    let service = try TestService(unlocked: false, patience: .seconds(600))
    let client = try BusClient(service.bus.address)
    #expect(try client.text(BusClient.login, .collection, "Label") == "Login")
    #expect(try client.text(BusClient.defaultAlias, .collection, "Label") == "Login")
    #expect(try client.isLocked() && client.isLocked(BusClient.defaultAlias))
    let isLocked = try client.property(BusClient.login + "/anything", .item, "Locked", "b") { (answer) throws(Refusal) in
      try answer.flag()
    }
    #expect(isLocked)
    let alias = try client.call(BusClient.root, .service, "ReadAlias") { (message) throws(Refusal) in try message.put("default") }
    #expect(try alias.objectPath() == BusClient.defaultAlias, "where it leads is sealed")
    let all = try client.call(BusClient.login, .propertiesOf, "GetAll") { (message) throws(Refusal) in
      try message.put("org.freedesktop.Secret.Collection")
    }
    var names: [String] = []
    try all.entries("v") { (name) throws(Refusal) in
      names.append(name)
      try all.skip("v")
    }
    #expect(names == ["Label", "Locked", "Created", "Modified"], "which items there are is not known")
    #expect(service.attempts == [])
  }

  @Test func `what needs the vault is refused as locked once patience is over, and never answered as empty`() throws {
    let service = try TestService(unlocked: false, patience: .milliseconds(50))
    let client = try BusClient(service.bus.address)
    let session = try client.openPlain()
    #expect(try client.refusal { _ = try client.search([:]) } == "IsLocked")
    #expect(try client.refusal { _ = try client.search([:], in: BusClient.defaultAlias) } == "IsLocked")
    #expect(try client.refusal { _ = try client.create("a", [:], "b", session: session) } == "IsLocked")
    #expect(try client.refusal { _ = try client.secret(BusClient.login + "/a", session: session) } == "IsLocked")
    #expect(
      try client.refusal {
        _ = try client.property(BusClient.login, .collection, "Items", "ao") { (answer) throws(Refusal) in try answer.paths() }
      } == "IsLocked")
    #expect(
      try client.refusal {
        _ = try client.call(BusClient.root, .service, "GetSecrets") { (message) throws(Refusal) in
          try message.put(paths: [BusClient.login + "/a"])
          try message.put(path: session)
        }
      } == "IsLocked")
    #expect(try client.refusal { _ = try client.text(BusClient.root + "/collection/other", .collection, "Label") } == "IsLocked")
    #expect(try client.refusal { _ = try client.collections() } == "IsLocked")
    #expect(
      try client.refusal {
        try client.call(BusClient.root, .service, "ReadAlias") { (message) throws(Refusal) in try message.put("other") }
      } == "IsLocked")
  }

  @Test func `one program has one patience for its calls in a row, and another its own`() {
    var waits = ProgramWaits()
    let (start, patience) = (ContinuousClock.now, Duration.seconds(20))
    #expect(waits.end(of: 1, patience, now: start) == start + patience)
    #expect(waits.end(of: 1, patience, now: start + .seconds(5)) == start + patience)
    #expect(waits.end(of: 2, patience, now: start + .seconds(5)) == start + .seconds(25))
    // Its wait was in vain, and it asks at once for the next.
    #expect(waits.end(of: 1, patience, now: start + .seconds(21)) == start + patience)
    #expect(waits.end(of: 1, patience, now: start + .seconds(41)) == start + .seconds(61))
    #expect(waits.end(of: 3, .zero, now: start) == start)
    waits.clear()
    #expect(waits.end(of: 1, patience, now: start + .seconds(50)) == start + .seconds(70))
  }

  @Test func `a call waits for an unlocking at some terminal, and keeps nobody else waiting`() throws {
    let service = try TestService(unlocked: false, patience: .seconds(600))
    let address = service.bus.address
    let found = Collected<[String]>()
    let isDone = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      do { found.add(try BusClient(address).search([:])) } catch { Issue.record(error) }
      isDone.signal()
    }
    let client = try BusClient(address)
    for _ in 0..<20 { #expect(try client.isLocked()) }
    #expect(found.all.isEmpty)
    try service.unlock()
    isDone.wait()
    #expect(found.all == [[]])
    eventually("the service says that it is unlocked") { (try? client.isLocked()) == false }
  }

  @Test func `a call is done again where the vault was unlocked while it was being refused`() throws {
    let service = try TestService(unlocked: false)
    let settings = SecretServiceSettings(client: service.client) { (_) throws(StoreError) in
      throw StoreError(.locked, "no process unlocks it", cure: "none")
    }
    let (bus, tries, answers) = (try Bus(address: service.bus.address), Collected<Bool>(), Collected<Bool>())
    let loop = try ServiceLoop(bus, settings, Inbox())
    let message = try BusMessage(
      callOf: "SearchItems", Interface.service.name, BusClient.root, at: "org.freedesktop.secrets", bus)
    try loop.ask(message) { (vault) throws(Refusal) in
      let isUnlocked = try vault.isUnlocked()
      tries.add(isUnlocked)
      guard isUnlocked else { throw .isLocked("it is locked") }
    } _: { (_) throws(Refusal) in
      answers.add(true)
    }
    func number() throws -> UInt64 {
      var found: UInt64?
      eventually("the work is done") {
        for case .done(let number) in loop.inbox.take() { found = number }
        return found != nil
      }
      return try #require(found)
    }
    let refused = try number()
    // The bus's thread learns of the unlocking first, then of the refusal.
    try service.unlock()
    loop.note(try service.client.moment(after: nil))
    loop.finish(call: refused)
    loop.finish(call: try number())
    #expect(tries.all == [false, true] && answers.all == [true])
  }

  @Test func `what the service heard of the vault late does not replace what it heard since`() throws {
    let service = try TestService()
    let settings = SecretServiceSettings(client: service.client) { (_) throws(StoreError) in
      throw StoreError(.locked, "no process unlocks it", cure: "none")
    }
    let loop = try ServiceLoop(Bus(address: service.bus.address), settings, Inbox())
    let unlocked = try service.client.moment(after: nil)
    try service.client.lock()
    let locked = try service.client.moment(after: nil)
    loop.note(unlocked)
    #expect(loop.isUnlocked)
    loop.note(locked)
    loop.note(unlocked)
    #expect(!loop.isUnlocked)
    loop.note(nil)
    loop.note(unlocked)
    #expect(!loop.isUnlocked)
    try service.unlock()
    loop.note(try service.client.moment(after: nil))
    #expect(loop.isUnlocked)
  }

  private func makeWorkDefault(_ service: TestService) throws {
    let vault = try service.vault()
    let metadata = ItemMetadata(label: "My Work", attributes: [VaultNaming.alias + "default": ""])
    try vault.set(
      SecretForm(TestService.secret(""), metadata: metadata), for: ItemName(service: VaultNaming.collections, account: "Work"))
    try vault.set(SecretForm(TestService.secret("s")), for: ItemName(service: VaultNaming.service(of: "Work"), account: "a"))
  }

  @Test func `what is asked of the default collection before the vault is read is of the one that it is`() throws {
    let service = try TestService(unlocked: false, patience: .seconds(600))
    try makeWorkDefault(service)
    let address = service.bus.address
    let client = try BusClient(address)
    func read(_ alias: String) throws -> String {
      try client.call(BusClient.root, .service, "ReadAlias") { (message) throws(Refusal) in try message.put(alias) }.objectPath()
    }
    #expect(try read("default") == BusClient.defaultAlias && client.isLocked(BusClient.defaultAlias))
    #expect(try read("session") == BusClient.root + "/collection/session", "that one is never locked")
    let (items, labelled) = (Collected<[String]>(), Collected<Bool>())
    let group = DispatchGroup()
    let calls: [@Sendable (BusClient) throws -> Void] = [
      { client in
        items.add(
          try client.property(BusClient.defaultAlias, .collection, "Items", "ao") { (answer) throws(Refusal) in
            try answer.paths()
          })
      },
      { client in
        try client.call(BusClient.defaultAlias, .propertiesOf, "Set") { (message) throws(Refusal) in
          try message.put(Interface.collection.name)
          try message.put("Label")
          try message.putVariant("s") { () throws(Refusal) in try message.put("Renamed") }
        }
        labelled.add(true)
      },
    ]
    for call in calls {
      group.enter()
      Thread.detachNewThread {
        do { try call(BusClient(address)) } catch { Issue.record(error) }
        group.leave()
      }
    }
    for _ in 0..<20 { #expect(try client.isLocked()) }
    #expect(items.all.isEmpty && labelled.all.isEmpty)
    try service.unlock()
    group.wait()
    let work = BusClient.root + "/collection/Work"
    #expect(items.all == [[work + "/a"]])
    #expect(try client.text(work, .collection, "Label") == "Renamed")
    #expect(try client.text(BusClient.login, .collection, "Label") == "Login")
    eventually("the service has read where it leads") { (try? read("default")) == work }
  }

  @Test func `where the machine opens the vault by itself, an alias is read from it first`() throws {
    let service = try TestService(unlocked: false, ownKey: true)
    try makeWorkDefault(service)
    let client = try BusClient(service.bus.address)
    #expect(try client.text(BusClient.defaultAlias, .collection, "Label") == "My Work")
    #expect(service.attempts.count == 1)
  }

  @Test func `where the machine opens the vault by itself, the collections of earlier sessions are there at once`() throws {
    for path in [BusClient.root, BusClient.root + "/collection/Work"] {
      let service = try TestService(unlocked: false, ownKey: true, patience: .zero)
      try makeWorkDefault(service)
      let client = try BusClient(service.bus.address)
      guard path == BusClient.root else {
        #expect(try client.text(path, .collection, "Label") == "My Work")
        continue
      }
      #expect(try client.collections().contains(BusClient.root + "/collection/Work"))
      let alias = try client.call(path, .service, "ReadAlias") { (message) throws(Refusal) in try message.put("none") }
      #expect(try alias.objectPath() == "/")
    }
  }

  @Test func `a call that comes before the first search for changes is answered with what is in the vault`() throws {
    let service = try TestService(unlocked: false)
    try makeWorkDefault(service)
    try service.unlock()
    let settings = SecretServiceSettings(client: service.client) { (_) throws(StoreError) in
      throw StoreError(.locked, "no process unlocks it", cure: "none")
    }
    let bus = try Bus(address: service.bus.address)
    let loop = try ServiceLoop(bus, settings, Inbox())
    loop.note(try service.client.moment(after: nil))
    let message = try BusMessage(callOf: "ReadAlias", Interface.service.name, BusClient.root, at: "org.freedesktop.secrets", bus)
    let found = Collected<String?>()
    try loop.knowingBook(message) { () throws(Refusal) in found.add(loop.book.collection(behind: "default")) }
    eventually("the vault is read") {
      for case .done(let number) in loop.inbox.take() { loop.finish(call: number) }
      return !found.all.isEmpty
    }
    #expect(found.all == ["Work"] && loop.book.isRead)
  }

  @Test func `a search for changes that cannot begin does not wake the service`() throws {
    let service = try TestService()
    let settings = SecretServiceSettings(client: service.client) { (_) throws(StoreError) in
      throw StoreError(.locked, "no process unlocks it", cure: "none")
    }
    let loop = try ServiceLoop(Bus(address: service.bus.address), settings, Inbox())
    #expect(loop.timeLeft() == nil)
    let unlocked = try service.client.moment(after: nil)
    loop.note(unlocked)
    #expect(try #require(loop.timeLeft()) <= .zero, "it can begin at once")
    loop.startDueSurvey()
    // A change during a survey.
    loop.note(unlocked)
    #expect(loop.surveyIsDue && loop.surveyIsRunning && loop.timeLeft() == nil)
    loop.surveyed(nil, .zero)
    #expect(try #require(loop.timeLeft()) <= .zero)
    try service.client.lock()
    loop.note(try service.client.moment(after: nil))
    #expect(loop.surveyIsDue && loop.timeLeft() == nil, "it waits for the vault, which may stay locked for days")
  }

  /// The result of `call` once it is in time on a busy machine; nil if it never is.
  private func insist<Answer>(_ call: () throws -> Answer) throws -> Answer? {
    for _ in 0..<20 {
      do { return try call() } catch let refused as Refused where refused.name.hasSuffix(".Timeout") { usleep(20_000) }
    }
    return nil
  }

  // In a whole run the limit includes the test's wait for a thread.
  @Test(.timeLimit(.minutes(60)))
  func `a call that waited too long for others is refused as late, and nothing of it is done`() throws {
    // A busy machine needs longer for each call: everything doubles until that is enough.
    for round in 0..<8 {
      let done = try callsOfTwo(patience: 50 << round)
      guard done.contains(where: { $0.refusal.isEmpty }), done.contains(where: { $0.refusal == "Timeout" }) else { continue }
      for call in done {
        #expect(call.refusal.isEmpty || call.refusal == "Timeout", "\(call)")
        #expect(call.isDone == call.refusal.isEmpty, "\(call)")
      }
      return
    }
    Issue.record("nobody came too late while another one was answered")
  }

  /// Two calls while the vault is held for ten times the service's patience, their answers, and whether they were done;
  /// fewer on a very busy machine.
  private func callsOfTwo(patience: Int) throws -> [(refusal: String, isDone: Bool)] {
    let service = try TestService(patience: .milliseconds(patience), delay: .milliseconds(50))
    let address = service.bus.address
    let store = try VaultStore(service: "app", vault: service.vault())
    let answers = Collected<(name: String, refusal: String)>()
    let group = DispatchGroup()
    try store.update("held") { (_) throws(StoreError) in
      for name in ["a", "b"] {
        group.enter()
        Thread.detachNewThread {
          do {
            let client = try BusClient(address)
            if let session = try insist({ try client.openPlain() }) {
              answers.add((name, try client.refusal { _ = try client.create(name, ["n": name], "s", session: session) }))
            }
          } catch { Issue.record(error) }
          group.leave()
        }
      }
      usleep(useconds_t(10_000 * patience))  // No event: any moment.
      return nil
    }
    group.wait()
    let client = try BusClient(address)
    return try answers.all.compactMap { name, refusal in
      try insist { try client.search(["n": name]) }.map { (refusal, !$0.isEmpty) }
    }
  }

  @Test func `a machine's own key unlocks without a prompt`() throws {
    let service = try TestService(unlocked: false, ownKey: true, prompt: true)
    let client = try BusClient(service.bus.address)
    #expect(try client.search([:]) == [])
    #expect(service.attempts == [true])
    try service.client.lock()
    #expect(try !client.isLocked(), "no client needs to unlock it")
    #expect(try client.unlock([BusClient.defaultAlias, BusClient.login]) == ([BusClient.defaultAlias, BusClient.login], "/"))
    #expect(service.attempts == [true, false])
    #expect(try service.client.status().unlocked != nil)
  }

  @Test func `a prompt ends with one signal to its client, first of all`() throws {
    let service = try TestService(unlocked: false, prompt: true)
    let client = try BusClient(service.bus.address)
    try client.listen()
    let (unlocked, prompt) = try client.unlock([BusClient.defaultAlias])
    #expect(unlocked == [] && prompt.hasPrefix(BusClient.root + "/prompt/"))
    let other = try BusClient(service.bus.address)
    #expect(
      try other.refusal { _ = try other.call(prompt, .prompt, "Prompt") { (message) throws(Refusal) in try message.put("") } }
        == "NoSuchObject")
    try client.call(prompt, .prompt, "Prompt") { (message) throws(Refusal) in try message.put("") }
    let completed = try #require(try client.await("Completed"))
    #expect(completed.path == prompt && completed.argument == "false")
    #expect(client.signals.first?.member == "Completed")
    #expect(try client.unlock([BusClient.defaultAlias]) == ([BusClient.defaultAlias], "/"))
    #expect(try client.search([:]) == [])
    try client.hear()
    #expect(client.signals.count { $0.member == "Completed" } == 1)
    #expect(try client.refusal { _ = try client.call(prompt, .prompt, "Dismiss") } == "NoSuchObject")
  }

  @Test func `a prompt that nobody answers, and one that is dismissed, end so`() throws {
    let service = try TestService(unlocked: false, prompt: false, patience: .seconds(600))
    let client = try BusClient(service.bus.address)
    let (_, prompt) = try client.unlock([BusClient.login])
    try client.call(prompt, .prompt, "Prompt") { (message) throws(Refusal) in try message.put("") }
    #expect(try client.await("Completed")?.argument == "true")
    client.signals = []
    let (_, second) = try client.unlock([BusClient.login])
    try client.call(second, .prompt, "Dismiss")
    #expect(try client.await("Completed")?.path == second)
    #expect(service.attempts == [true], "after a dismissal nobody is asked")
  }

  /// A window that nobody answers. It records in `folder` that it is open, and that it must close, and closes once it may.
  private func window(_ folder: TestFolder) -> String {
    let place = folder.path.string
    return """
      trap 'touch \(place)/told; while [ -d \(place) ] && [ ! -e \(place)/may ]; do sleep 0.02; done; exit 1' TERM
      touch \(place)/open
      while [ -d \(place) ]; do sleep 0.02; done
      """
  }

  private func exists(_ name: String, in folder: TestFolder) -> Bool {
    FileManager.default.fileExists(atPath: folder.path.string + "/" + name)
  }

  /// A client searches, which opens a window, and leaves before the answer; returns the processes until then.
  @discardableResult
  private func askAndGo(_ service: TestService, _ folder: TestFolder) throws -> [Int32] {
    let client = try BusClient(service.bus.address)
    let message = try BusMessage(
      callOf: "SearchItems", Interface.service.name, BusClient.root, at: SecretServiceProvider.busName, client.bus)
    try message.put(attributes: [:])
    try client.bus.send(message)
    _ = try client.isLocked()
    return withExtendedLifetime(client) {
      eventually("the window opens") { exists("open", in: folder) && !service.processes.isEmpty }
      return service.processes
    }
  }

  @Test func `a window closes when the program that asked is gone`() throws {
    let folder = try TestFolder("window")
    try Data().write(to: URL(fileURLWithPath: folder.path.string + "/may"))
    let service = try TestService(unlocked: false, window: window(folder), patience: .seconds(600))
    try askAndGo(service, folder)
    eventually("the window is told to close") { exists("told", in: folder) }
    let client = try BusClient(service.bus.address)
    for _ in 0..<20 { #expect(try client.isLocked()) }
    #expect(service.attempts == [true], "nobody is asked for a program that is gone")
  }

  @Test func `a window that outlives the service leaves no process behind, also none that nobody has waited for`() throws {
    let folder = try TestFolder("window")
    let windows: [Int32]
    do {
      let service = try TestService(unlocked: false, window: window(folder), patience: .seconds(600))
      windows = try askAndGo(service, folder)
    }
    try Data().write(to: URL(fileURLWithPath: folder.path.string + "/may"))
    #expect(windows.count == 1)
    for window in windows { eventually("it is gone") { hasEnded(window) } }
  }

  @Test func `a prompt that begins while another program's window closes has a window of its own`() throws {
    let folder = try TestFolder("window")
    let service = try TestService(unlocked: false, window: window(folder), patience: .seconds(600))
    try askAndGo(service, folder)
    eventually("the window is told to close") { exists("told", in: folder) }
    let client = try BusClient(service.bus.address)
    try client.listen()
    let (_, prompt) = try client.unlock([BusClient.login])
    try client.call(prompt, .prompt, "Prompt") { (message) throws(Refusal) in try message.put("") }
    #expect(service.attempts == [true])
    try Data().write(to: URL(fileURLWithPath: folder.path.string + "/may"))
    eventually("a second window opens, or the prompt ends without one") {
      try? client.hear()
      return service.attempts.count > 1 || client.signals.contains { $0.member == "Completed" }
    }
    #expect(service.attempts == [true, true] && !client.signals.contains { $0.member == "Completed" })
    try service.unlock()
    #expect(try client.await("Completed")?.argument == "false")
  }

  @Test func `without a program that asks, a prompt waits for a terminal and then ends`() throws {
    let service = try TestService(unlocked: false, patience: .milliseconds(100))
    let client = try BusClient(service.bus.address)
    let (_, prompt) = try client.unlock([BusClient.login])
    try client.call(prompt, .prompt, "Prompt") { (message) throws(Refusal) in try message.put("") }
    #expect(try client.await("Completed")?.argument == "true")
    #expect(try client.isLocked())
  }

  @Test func `Lock locks the agent's vault, and clients are told`() throws {
    let service = try TestService(patience: .milliseconds(50))
    let client = try BusClient(service.bus.address)
    try client.listen()
    eventually("the service hears of the unlocking") { (try? client.isLocked()) == false }
    let answer = try client.call(BusClient.root, .service, "Lock") { (message) throws(Refusal) in
      try message.put(paths: [BusClient.defaultAlias, "/nothing"])
    }
    #expect(try answer.paths() == [BusClient.defaultAlias] && answer.objectPath() == "/")
    #expect(try client.isLocked())
    #expect(try service.client.status().unlocked == nil)
    #expect(try client.refusal { _ = try client.search([:]) } == "IsLocked")
  }

  @Test func `asking what there is keeps the vault no longer unlocked`() throws {
    let service = try TestService()
    let client = try BusClient(service.bus.address)
    _ = try client.search([:])
    let before = try service.client.status().idleLeft
    eventually("a second passes") { (try? service.client.status().idleLeft).map { $0 < before } ?? false }
    let left = try service.client.status().idleLeft
    for _ in 0..<5 { _ = try client.search([:]) }
    #expect(try service.client.status().idleLeft <= left)
  }

  @Test func `the agent dies and another one comes: the next call finds it`() throws {
    let service = try TestService(ownKey: true)
    let client = try BusClient(service.bus.address)
    let path = try client.create("a", ["k": "v"], "s", session: client.openPlain())
    service.server.lockVaults()
    #expect(try client.search(["k": "v"]) == [path])
  }
}
