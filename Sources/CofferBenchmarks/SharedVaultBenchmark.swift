internal import Coffer
internal import CofferPostgres
internal import CofferStorage
internal import CofferVault
internal import Foundation

/// The costs of a vault on a PostgreSQL server against bare libpq on the same server in the same run.
///
/// The server is made for the run, with its default wait for the disk, in a folder of an unprivileged user, because it
/// refuses root.
struct SharedVaultBenchmark {
  private static let items = 10_000
  private static let machines = 8
  private static let seconds = 4

  let folder: String, server: String, port: Int32
  let key: SecretForm
  let value: SecretForm
  let peer: PostgresPeer

  static func run(in folder: String) throws {
    guard let binaries = Self.binaries else { return print("\nshared vaults are left out: PostgreSQL is not installed") }
    PostgresVaults.use()
    let home = "/tmp/coffer-bench-pg-\(UUID().uuidString.prefix(8))"
    let user = getuid() == 0 ? "setpriv --reuid=postgres --regid=postgres --clear-groups " : ""
    try Shell.run("\(user)mkdir -m 755 \(home)")
    defer {
      do { try Shell.run("\(user)\(binaries)/pg_ctl stop -D \(home)/data -m fast; rm -rf \(home)") } catch {
        print("a server was left running: \(error)")
      }
    }
    try Shell.run("cd /; \(user)\(binaries)/initdb -D \(home)/data -U coffer -A trust -E UTF8 --locale=C 2>&1")
    // libpq uses it for every connection of this program and its children.
    let port = 20_000 + getpid() % 20_000
    setenv("PGPORT", String(port), 1)
    let options =
      "-c port=\(port) -c listen_addresses=127.0.0.1 -c unix_socket_directories=\(home) -c unix_socket_permissions=0777 -c "
      + "max_connections=200"
    try Shell.run("cd /; \(user)\(binaries)/pg_ctl start -w -D \(home)/data -l \(home)/log -o '\(options)'")
    let benchmark = try SharedVaultBenchmark(folder: folder, server: home, port: port)
    try benchmark.durableSets("set", at: home, "by its socket", 1.5)
    try benchmark.durableSets("tcp", at: "127.0.0.1", "by TCP", 1.9)
    let opened = try benchmark.filled()
    try benchmark.events(opened)
    try benchmark.whole(opened)
    for milliseconds in [20.0, 200] { try benchmark.far(milliseconds) }
    try benchmark.writers(binaries)
    try benchmark.reads(opened)
  }

  private static let binaries: String? = {
    let root = "/usr/lib/postgresql"
    let versions = ((try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []).sorted { (Int($0) ?? 0) > (Int($1) ?? 0) }
    return versions.map { "\(root)/\($0)/bin" }.first { access("\($0)/initdb", X_OK) == 0 && access("\($0)/pgbench", X_OK) == 0 }
  }()

  private init(folder: String, server: String, port: Int32) throws {
    (self.folder, self.server, self.port) = (folder, server, port)
    key = SecretForm(try KeyFile.generate())
    value = SecretForm(try SecretBytes.random(64))
    peer = try PostgresPeer(server)
    try peer.fill(Self.items)
  }

  private func place(_ name: String, at host: String? = nil, port: Int32? = nil) -> VaultPlace {
    let host = (host ?? server).replacingOccurrences(of: "/", with: "%2F")
    return VaultPlace("postgresql://coffer@\(host):\(port ?? self.port)/postgres#\(name)")
  }
  private func credentials() throws -> Credentials { Credentials(keyFile: try key.bytes.duplicate()) }
  private func create(_ name: String) throws {
    _ = try UnlockedVault.create(at: place(name), with: credentials(), options: .withoutPins)
  }
  private func unlock(_ name: String, at host: String? = nil, port: Int32? = nil) throws -> UnlockedVault {
    try LockedVault.open(place(name, at: host, port: port), options: .withoutPins).unlock(with: credentials())
  }
  private static func name(_ number: Int) throws -> ItemName { try ItemName(service: "bench", account: "item \(number)") }

  private func durableSets(_ name: String, at host: String, _ way: String, _ goal: Double) throws {
    try create(name)
    let vault = try unlock(name, at: host)
    let peer = try PostgresPeer(host)
    let names = try (0..<500).map { try Self.name($0) }
    for name in names { try vault.set(value, for: name) }
    try Measure.table(
      "durable set on a server, \(way)", rounds: 301, clock: .wall,
      [
        Contender(name: "coffer", count: 1, goals: [.times(goal)]) { _ in try vault.set(value, for: names[.random(in: 0..<500)])
        },
        Contender(name: "libpq, one UPDATE", count: 1) { _ in try peer.set(.random(in: 0..<500)) },
      ])
  }

  private func filled() throws -> OpenedVault {
    try create("many")
    let vault = OpenedVault(try unlock("many"))
    _ = try vault.vault.add((0..<Self.items).map { ImportedItem(name: try Self.name($0), form: value) })
    return vault
  }

  private func reads(_ opened: OpenedVault) throws {
    let names = try (0..<2000).map { try Self.name($0 &* 7919 % Self.items) }
    for name in names { _ = try opened.vault.get(name) }
    // A get waits for one answer, and waking a processor for it takes longer than the work: the contender that the kernel
    // puts beside the server would win.
    try runOnOneProcessor()
    try Measure.table(
      "get among \(Self.items) on a server", rounds: 15, clock: .wall,
      [
        Contender(name: "coffer, verified", count: 1000, goals: [.times(1.9)]) { _ = try opened.vault.get(names[$0]) },
        Contender(name: "libpq, one SELECT", count: 1000) { try peer.get($0 &* 7919 % Self.items) },
      ])
  }

  /// Runs this program and the server's processes on one processor, from now on.
  private func runOnOneProcessor() throws {
    let servers = "$(pgrep -P $(head -n 1 \(server)/data/postmaster.pid))"
    try Shell.run("for one in \(getpid()) \(servers); do taskset -acp 0 $one; done")
  }

  /// The time from a commit's return until another machine has its news.
  private func events(_ opened: OpenedVault) throws {
    let store = try VaultStore(service: "bench", vault: unlock("many"))
    let told = DispatchSemaphore(value: 0)
    let subscription = try store.changes.subscribe { event in if case .changes = event { told.signal() } }
    defer { subscription.cancel() }
    let (rounds, server, notified) = (200, server, DispatchSemaphore(value: 0))
    Thread.detachNewThread {
      do {
        let listening = try PostgresPeer(server)
        try listening.listen(to: "bench")
        notified.signal()
        for _ in 0..<rounds {
          try listening.awaitNotice()
          notified.signal()
        }
      } catch { fatalError("the peer cannot listen: \(error)") }
    }
    notified.wait()
    var ours: [Double] = [], theirs: [Double] = []
    for round in 0..<rounds {
      try opened.vault.set(value, for: Self.name(round))
      var start = Clock.wall.now
      told.wait()
      ours.append(Clock.wall.now - start)
      try peer.notify("bench")
      start = Clock.wall.now
      notified.wait()
      theirs.append(Clock.wall.now - start)
    }
    let (mine, other) = (Measure.median(ours), Measure.median(theirs))
    print("\nnews of another machine's commit, after it returned")
    Measure.line(
      "coffer, verified", Result(microseconds: mine, ratio: mine / max(other, 0.1), difference: mine - other),
      [.microseconds(5000)])
    Measure.line("NOTIFY alone", Result(microseconds: other, ratio: 1, difference: 0), [])
  }

  private func whole(_ opened: OpenedVault) throws {
    try Measure.table(
      "\(Self.items) items on a server", rounds: 5, clock: .wall,
      [
        Contender(name: "open and verify", count: 1, goals: [.times(1.5)]) { _ in _ = try unlock("many").verify() },
        Contender(name: "libpq, all rows read", count: 1) { _ in use(try peer.readAll()) },
      ])
    try Measure.table(
      "a new key for \(Self.items) items on a server", rounds: 5, clock: .wall,
      [
        Contender(name: "coffer, rotate", count: 1, goals: [.times(2)]) { _ in try opened.vault.rotate() },
        Contender(name: "libpq, all rows rewritten in one transaction", count: 1) { _ in try peer.rewrite(Self.items) },
      ])
  }

  /// Calls to a server far away, against one `SELECT` there: the ratio is the number of round trips. A first call of an open
  /// vault knows no lists.
  private func far(_ milliseconds: Double) throws {
    let proxy = try FarServer(server, server: port, milliseconds: milliseconds), peer = try PostgresPeer(server, port: proxy.port)
    let rounds = milliseconds > 100 ? 3 : 7
    var new = try (0..<4 * (rounds + 1)).map { _ in OpenedVault(try unlock("many", port: proxy.port)) }
    let one = try Self.name(7), known = new[0]
    // Others' commits would cost the calls to the first vault round trips.
    try create("far\(Int(milliseconds))")
    let written = OpenedVault(try unlock("far\(Int(milliseconds))", port: proxy.port))
    func first(_ name: String, _ goal: Double? = nil, _ body: @escaping (borrowing UnlockedVault) throws -> Void) -> Contender {
      // Half a round trip for the work.
      Contender(name: name, count: 1, goals: goal.map { [.times($0 + 0.5)] } ?? []) { _ in try body(new.removeLast().vault) }
    }
    try Measure.table(
      "\(Self.items) items on a server, a round trip of \(Int(milliseconds)) ms", rounds: rounds, clock: .wall,
      [
        Contender(name: "open and unlock", count: 1, goals: [.times(5.5)]) { _ in _ = try unlock("many", port: proxy.port) },
        first("get", 2) { _ = try $0.get(one) },
        Contender(name: "get again", count: 1, goals: [.times(2.5)]) { _ in _ = try known.vault.get(one) },
        Contender(name: "set", count: 1, goals: [.times(3.5)]) { _ in try written.vault.set(value, for: one) },
        Contender(name: "status", count: 1, goals: [.times(3.5)]) { _ in _ = try known.vault.status() },
        first("list", 3) { _ = try $0.list() },
        first("find", 3) { _ = try $0.find(ItemQuery(service: "bench")) },
        Contender(name: "libpq, all rows read", count: 1) { _ in use(try peer.readAll()) },
        first("verify") { _ = try $0.verify() },
        Contender(name: "libpq, one SELECT", count: 1) { _ in try peer.get(7) },
      ])
  }

  // MARK: Many machines

  /// Commits of eight machines to one vault, beside eight clients of `pgbench` that update one row.
  private func writers(_ binaries: String) throws {
    try create("team")
    let keyFile = folder + "/team.key"
    guard
      key.bytes.withUnsafeBytes({
        FileManager.default.createFile(atPath: keyFile, contents: Data($0), attributes: [.posixPermissions: 0o600])
      })
    else { throw Shell.Failed(line: keyFile) }
    let script = folder + "/pgbench.sql"
    try Data("UPDATE peer SET value = value WHERE idx = 1;\n".utf8).write(to: URL(fileURLWithPath: script))
    let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let mine = "\(program) shared-writer '\(place("team"))' \(keyFile) \(Self.seconds)"
    let counted =
      "for n in \((1...Self.machines).map(String.init).joined(separator: " ")); do \(mine) > \(folder)/commits.$n & done; wait"
    let clients = "-c \(Self.machines) -j 2 -T \(Self.seconds) -n -M prepared -f \(script)"
    let theirs = "\(binaries)/pgbench -h \(server) -U coffer \(clients) postgres > \(folder)/pgbench.out 2>&1"
    var (own, other) = ([Double](), [Double]())
    for _ in 0..<3 {
      try Shell.run(counted)
      own.append(
        try (1...Self.machines).reduce(0) {
          $0
            + (Double(
              try String(contentsOfFile: "\(folder)/commits.\($1)", encoding: .utf8).trimmingCharacters(
                in: .whitespacesAndNewlines)) ?? 0)
        })
      try Shell.run(theirs)
      let lines = try String(contentsOfFile: folder + "/pgbench.out", encoding: .utf8).split(separator: "\n")
      guard let line = lines.first(where: { $0.hasPrefix("tps = ") }), let rate = Double(line.split(separator: " ")[2]) else {
        throw Shell.Failed(line: theirs)
      }
      other.append(rate)
    }
    let rates = (Measure.median(own), Measure.median(other))
    print("\n\(Self.machines) machines that write one vault on a server, time for a commit of any")
    let ratio = rates.1 / rates.0
    Measure.line(
      "coffer: \(Int(rates.0)) commits a second",
      Result(microseconds: 1e6 / rates.0, ratio: ratio, difference: 1e6 / rates.0 - 1e6 / rates.1), [.times(1 / 0.6)])
    Measure.line("pgbench, one row: \(Int(rates.1))", Result(microseconds: 1e6 / rates.1, ratio: 1, difference: 0), [])
  }

  /// One of the machines, its own process: writes its own items for some seconds, and prints their rate per second.
  static func write(_ words: [String]) throws {
    guard words.count == 3, let seconds = Double(words[2]) else { throw Shell.Failed(line: words.joined(separator: " ")) }
    PostgresVaults.use()
    let content = try Data(contentsOf: URL(fileURLWithPath: words[1]))
    let key = try content.bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
    let vault = try LockedVault.open(VaultPlace(words[0]), options: .withoutPins).unlock(with: Credentials(keyFile: key))
    let value = SecretForm(try SecretBytes.random(64))
    let names = try (0..<50).map { try ItemName(service: "bench", account: "\(getpid()) \($0)") }
    let end = Clock.wall.now + seconds * 1e6
    var count = 0
    while Clock.wall.now < end {
      try vault.set(value, for: names[count % names.count])
      count += 1
    }
    print(Double(count) / seconds)
  }
}
