import CofferClient
import CofferPlatform
import CofferSync
import CofferTestSupport
import CofferVault
import Foundation
import SystemPackage
import Testing

@testable import CofferAgent

/// Syncs by agents, over their sockets.
@Suite struct SyncCallTests {
  /// An agent with pins, and a remote that it has synced with.
  private final class Home {
    let agent: TestAgent
    let hand: HandClock
    let remote: String

    init(_ remote: String, copying other: Home? = nil) throws {
      (self.remote, hand) = (remote, HandClock())
      let folder = try other.map { other in
        let folder = try TestAgent.newFolder()
        _ = try LockedVault.open(other.agent.settings.vault, options: .withoutPins)
          .backup(to: folder.appending("vault.sqlite"))
        return folder
      }
      agent = try TestAgent(clock: hand.clock, folder: folder, hasPins: true, unlocked: false)
      try byHand()
      try unlock()
    }

    deinit {
      agent.stop()
      TestAgent.remove(agent.folder)
    }

    func unlock() throws {
      let long = Duration.seconds(1 << 40)
      _ = try agent.client().unlock(with: TestAgent.credentials(), idle: long, lifetime: long)
    }

    /// By another process than the agent's.
    func byHand() throws {
      let vault = try agent.vault()
      _ = try sync.run(vault, SyncOptions(machine: "by hand"))
    }

    var sync: VaultSync {
      get throws {
        try VaultSync(remote, pins: #require(agent.settings.options.pins), caches: agent.folder.appending("own"))
      }
    }

    func pass(_ time: Duration) {
      hand.pass(time)
      agent.server.wake()
    }

    func ask(isTrial: Bool = false) throws -> SyncReport {
      try agent.client().on(Behalf(process: 4711, program: "cron")).sync(with: sync.remote, as: "agent", isTrial: isTrial)
    }
  }

  private let folder: TestFolder
  private var store: String { folder.path.appending("store").string }
  private var gate: String { folder.path.appending("gate").string }

  init() throws {
    folder = try TestFolder("sync-call")
    try FileManager.default.createDirectory(atPath: store + "/h", withIntermediateDirectories: true)
    try FileManager.default.createDirectory(atPath: store + "/o", withIntermediateDirectories: true)
  }

  private func heads() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: store + "/h").count }

  /// A carrier that waits while the gate is there and open.
  private func slowRemote() throws -> String {
    let path = folder.path.appending("carry").string
    let script = """
      #!/bin/sh
      cd '\(store)'
      [ -p '\(gate)' ] && read -r line <'\(gate)'
      case $1 in
        list) ls h | sed 's|^|h/|'; ls o | sed 's|^|o/|' ;;
        get) while read -r name; do mkdir -p "$3/${name%/*}"; [ ! -e "$name" ] || cp "$name" "$3/$name"; done <"$2" ;;
        put) while read -r name; do cp "$3/$name" "$name"; done <"$2" ;;
      esac
      exit 0
      """
    try Data(script.utf8).write(to: URL(filePath: path))
    try #require(chmod(path, 0o700) == 0)
    return "command:\(path)"
  }

  /// Runs `body` while a carrier waits.
  private func whileItWaits(_ body: () throws -> Void) throws {
    var writer: Int32 = -1
    eventually("a carrier waits") {
      writer = open(gate, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
      return writer >= 0
    }
    defer {
      unlink(gate)
      close(writer)
    }
    try body()
  }

  @Test func `a change in one agent's vault arrives in the other's, without a word`() throws {
    let name = try ItemName(service: "web", account: "ada")
    let desk = try Home(store), lap = try Home(store, copying: desk)
    for home in [desk, lap] { try home.sync.setAutomatic(true, for: #require(home.agent.client().status().unlocked)) }
    try desk.agent.client().set(form("from desk"), for: name)
    try eventually("it arrives") {
      desk.pass(.seconds(31))
      lap.pass(.seconds(901))
      return try lap.agent.client().get(name)?.text == "from desk"
    }
    try lap.agent.client().set(form("from lap"), for: name)
    try eventually("it arrives") {
      lap.pass(.seconds(31))
      desk.pass(.seconds(901))
      return try desk.agent.client().get(name)?.text == "from lap"
    }
    #expect(try desk.agent.client().syncNews().isEmpty && lap.agent.client().syncNews().isEmpty)
  }

  @Test func `a client gets the report, and its name is in the log`() throws {
    let name = try ItemName(service: "web", account: "ada")
    let desk = try Home(store), lap = try Home(store, copying: desk)
    try desk.agent.client().set(form("x"), for: name)
    let before = try heads()
    #expect(try desk.ask(isTrial: true).put != nil && heads() == before)
    let put = try desk.ask()
    #expect(put.remote == store && put.put != nil)
    let taken = try lap.ask()
    #expect(taken.taken.map(\.changes.added) == [[name]])
    let entry = try #require(try lap.agent.vault().log().last)
    #expect(entry.process == 4711)
    #expect(try lap.ask().taken.isEmpty)
  }

  @Test func `it goes to no remote that the machine has not synced with, and takes no older files`() throws {
    let desk = try Home(store)
    let other = try TestFolder("sync-call-other")
    #expect(kind { _ = try desk.agent.client().sync(with: other.path.string, as: "agent") } == .notFound)
    #expect(try FileManager.default.contentsOfDirectory(atPath: other.path.string).isEmpty)
    for head in try FileManager.default.contentsOfDirectory(atPath: store + "/h") { unlink("\(store)/h/\(head)") }
    #expect(kind { _ = try desk.ask() } == .rolledBack)
    #expect(try heads() == 0)
    try desk.agent.client().lock()
    #expect(kind { _ = try desk.ask() } == .locked && kind { _ = try desk.agent.client().syncNews() } == .locked)
  }

  @Test func `a sync that finds the vault's slot gone leaves a locked vault to the next client`() throws {
    let desk = try Home(store)
    let vault = try desk.agent.vault()
    let used = try #require(vault.slots().first).summary.id
    _ = try vault.addSlot(TestAgent.credentials("another horse"), label: "")
    try vault.removeSlot(used)
    #expect(kind { _ = try desk.ask() } == .locked)
    for _ in 0..<2 {
      let error = try #require(throws: StoreError.self) { try desk.agent.client().get(ItemName(service: "web", account: "ada")) }
      #expect(error.kind == .locked && error.remedy == .unlockAgent)
    }
  }

  @Test(.tags(.process), .defaultRun) func `while a remote takes its time others are answered, and a lock does not wait`() throws
  {
    let desk = try Home(slowRemote())
    let name = try ItemName(service: "web", account: "ada")
    try desk.agent.client().set(form("x"), for: name)
    try #require(mkfifo(gate, 0o600) == 0)
    let ended = Collected<StoreError.Kind?>()
    Thread.detachNewThread { [desk = Unsafe(desk)] in ended.add(kind { _ = try desk.value.ask() }) }
    let before = try heads()
    try whileItWaits {
      #expect(try desk.agent.client().get(name)?.text == "x")
      try desk.agent.client().lock()
      #expect(ended.all.isEmpty)
    }
    eventually("it ends") { !ended.all.isEmpty }
    #expect(ended.all == [.locked])
    #expect(try heads() == before)
    try desk.unlock()
    #expect(try desk.ask().put != nil)
  }

  @Test(.tags(.process), .defaultRun) func `a client that leaves ends no sync`() throws {
    let desk = try Home(slowRemote())
    try desk.agent.client().set(form("x"), for: ItemName(service: "web", account: "ada"))
    let before = try heads()
    try #require(mkfifo(gate, 0o600) == 0)
    let remote = try desk.sync.remote
    do {
      let socket = try desk.agent.connect()
      for request in [AgentProtocol.Request.greet, .sync] {
        var writer = try FrameWriter(request: request)
        if request == .greet {
          try writer.put(Greeting(path: desk.agent.settings.vault.description))
        } else {
          try writer.put(SyncRequest(remote: remote, options: SyncOptions(machine: "agent")) as SyncRequest?)
        }
        try writer.withFrame { try socket.send($0, within: .seconds(60)) }
      }
      try whileItWaits {
        shutdown(socket.descriptor, Int32(SHUT_RDWR))
        try eventually("the agent lets the client go") { try desk.agent.client().status().connections == 1 }
      }
    }
    try eventually("the head is put") { try heads() == before + 1 }
  }
}

private struct Unsafe<Value>: @unchecked Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}
