internal import Foundation

/// One change on its way from one machine to another: by `coffer vault sync`, and by other programs' files in git.
///
/// A program in the place of ssh counts git's bytes, in both directions. The program is the one beside this one, or the one
/// named by `COFFER_BENCHMARKED`. Goals are for 100 000 items.
struct SyncBenchmark {
  private static let rounds = 3
  private static let usual = [10, 1000]

  private let home: String, items: Int
  private let coffer = CommandLineBenchmark.program
  private var desk: String { home + "/desk" }
  private var vault: String { desk + "/data/vault.sqlite" }
  private var folder: String { home + "/folder" }
  private var key: String { desk + "/key" }

  /// - Parameter counts: of items; ten and a thousand if there are none.
  static func run(in folder: String, _ counts: [Int]) throws {
    guard SecretPeers.isInstalled(["git"]) else { return }
    for items in counts.isEmpty ? usual : counts {
      let benchmark = SyncBenchmark(home: "\(folder)/sync-\(items)", items: items)
      let home = benchmark.home
      try SecretPeers.environment(["HOME": home, "GIT_SSH_COMMAND": home + "/ssh", "GIT_CONFIG_NOSYSTEM": "1"]) {
        try benchmark.prepare()
        try benchmark.measure()
      }
      try FileManager.default.removeItem(atPath: home)
    }
  }

  // MARK: Steps

  /// A part of each round, which is measured if it has a name.
  private struct Step {
    var name: String?
    /// At most so many bytes, and microseconds on a processor.
    var goals: (bytes: Double?, processor: Double?) = (nil, nil)
    let body: (Int) throws -> Void

    /// Lines for the shell.
    static func shell(_ name: String?, _ line: @escaping (Int) -> String) -> Step {
      Step(name: name) { round in try Shell.run(line(round)) }
    }
  }

  private struct Cost { var bytes = 0.0, processor = 0.0, wall = 0.0 }

  private func prepare() throws {
    try Shell.run("mkdir -m 700 \(home) && mkdir \(folder) && : > \(home)/sent && : > \(home)/received")
    let counting = "#!/bin/sh\nfor line; do :; done\ntee -a \(home)/sent | sh -c \"$line\" | tee -a \(home)/received\n"
    try Data(counting.utf8).write(to: URL(fileURLWithPath: home + "/ssh"))
    // Repositories are as after a gc, and none runs in a round.
    let settings = "[user]\nname=x\nemail=x@localhost\n[init]\ndefaultBranch=main\n[gc]\nauto=0\n[maintenance]\nauto=false\n"
    try Data(settings.utf8).write(to: URL(fileURLWithPath: home + "/.gitconfig"))
    try Shell.run("chmod 700 \(home)/ssh && git init -q --bare \(home)/coffer.git")
    _ = try ScaleBenchmark.Filled(desk, items, coffer: coffer)
  }

  private func measure() throws {
    let steps = try [change] + synced("a folder", folder, 100_000) + synced("git", address("coffer"), 4000) + wholeFile()
    let remotes = [folder, home + "/coffer.git/objects"]
    let sizes = try [size(vault)] + remotes.map { try files($0).values.reduce(0, +) }
    print("\nOne change among \(items) items; bytes of the vault, at the folder, at git: \(sizes)")
    print("\(Measure.padded(""))        bytes          processor ms           wall ms")
    let peer = try rows(steps, beside: nil)
    try SecretPeers.pass(in: home) { _ in _ = try rows(pass(), beside: peer) }
    if SecretPeers.isInstalled(["keepassxc-cli"]) { _ = try rows(keePassXC(), beside: peer) }
  }

  /// - Parameter peer: the costs of the whole file; nil if its push is a step.
  private func rows(_ steps: [Step], beside peer: Cost?) throws -> Cost {
    var costs = steps.map { _ in [Cost]() }
    for round in 0...Self.rounds {
      for (index, step) in steps.enumerated() {
        let (carried, processor, wall) = try (carried(), Clock.children.now, Clock.wall.now)
        try step.body(round)
        let end = (processor: Clock.children.now, wall: Clock.wall.now)
        guard round > 0, step.name != nil else { continue }
        let new = try self.carried().filter { carried[$0.key] != $0.value }.map { $0.value - (carried[$0.key] ?? 0) }
        let bytes = Double(new.reduce(0, +))
        costs[index].append(Cost(bytes: bytes, processor: end.processor - processor, wall: end.wall - wall))
      }
    }
    let medians = costs.map { costs in
      let parts = [costs.map(\.bytes), costs.map(\.processor), costs.map(\.wall)].map { $0.isEmpty ? 0 : Measure.median($0) }
      return Cost(bytes: parts[0], processor: parts[1], wall: parts[2])
    }
    guard let peer = peer ?? zip(steps, medians).first(where: { $0.0.name == Self.wholeFilePush })?.1 else { return Cost() }
    for (step, cost) in zip(steps, medians) { if let name = step.name { line(name, cost, peer, step.goals) } }
    return peer
  }

  private func line(_ name: String, _ cost: Cost, _ peer: Cost, _ goals: (bytes: Double?, processor: Double?)) {
    let pairs = [(cost.processor, peer.processor), (cost.wall, peer.wall)].map { own, other in
      "\(Measure.number(own / 1000))\(Measure.number(own / other))×"
    }
    let bytes = Self.grouped(cost.bytes)
    let padding = String(repeating: " ", count: max(0, 12 - bytes.count))
    let judged = [
      goals.bytes.map { "≤ \(Self.grouped($0)) B\(cost.bytes <= $0 ? "" : "  ✗ missed")" },
      goals.processor.map { "≤ \(Int($0 / 1000)) ms\(cost.processor <= $0 ? "" : "  ✗ missed")" },
    ]
    print(
      "  \(Measure.padded(name))\(padding)\(bytes)\(Measure.number(cost.bytes / peer.bytes))× \(pairs.joined(separator: " "))   "
        + judged.compactMap(\.self).joined(separator: "   "))
  }

  /// Digits in groups of three.
  private static func grouped(_ number: Double) -> String {
    let number = Int(number)
    return number < 1000 ? "\(number)" : "\(grouped(Double(number / 1000))) \(String("\(1000 + number % 1000)".suffix(3)))"
  }

  // MARK: Bytes

  /// The files at the folder, and the two counts of git's bytes.
  private func carried() throws -> [String: Int] {
    var sizes = try files(folder)
    for count in ["sent", "received"] { sizes[count] = try size("\(home)/\(count)") }
    return sizes
  }

  private func files(_ path: String) throws -> [String: Int] {
    let names = try FileManager.default.subpathsOfDirectory(atPath: path)
    return Dictionary(uniqueKeysWithValues: try names.map { ($0, try size("\(path)/\($0)")) })
  }

  /// Nothing for a folder.
  private func size(_ path: String) throws -> Int {
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    return attributes[.type] as? FileAttributeType == .typeRegular ? attributes[.size] as? Int ?? 0 : 0
  }

  // MARK: Coffer

  private func run(_ words: [String], of home: String, input: String = "/dev/null") throws {
    let words = [coffer, "vault"] + words + ["--quiet", "--home", home, "--key-file", key]
    try CommandLineBenchmark.process(words.joined(), words, [], input: input).body(0)
  }

  private func sync(_ home: String, _ remote: String) throws { try run(["sync", remote, "--no-agent"], of: home) }

  /// The change of a round, which goes each way.
  private var change: Step {
    Step { round in
      let value = home + "/value"
      try Data("a password of the round \(1000 + round)".utf8).write(to: URL(fileURLWithPath: value))
      try run(["set", "https://host\(round).example.com", "user", "--stdin", "--no-agent"], of: desk, input: value)
    }
  }

  private func synced(_ name: String, _ remote: String, _ bytes: Double) throws -> [Step] {
    let lap = "\(home)/lap of \(name)"
    try sync(desk, remote)
    try run(["clone", remote], of: lap)
    // The clone's item.
    try sync(desk, remote)
    return [
      Step(name: "coffer vault sync, \(name): put", goals: (bytes, 500_000)) { _ in try sync(desk, remote) },
      Step(name: "the other machine: take", goals: (bytes, 500_000)) { _ in try sync(lap, remote) },
      Step(name: "nothing new", goals: (nil, 50_000)) { _ in try sync(lap, remote) },
    ]
  }

  // MARK: Peers

  private static let wholeFilePush = "the vault's whole file: git commit, push"

  private func address(_ name: String) -> String { "bench@counted:\(home)/\(name).git" }

  /// Pushes the files in `here`, and clones them for another machine.
  private func share(_ here: String, as name: String) throws {
    let place = "\(home)/\(name)"
    try Shell.run("git init -q --bare \(place).git && git init -q \(here) && git -C \(here) remote add origin \(address(name))")
    try Shell.run("cd \(here) && git add -A && git commit -qm x && git repack -adq && git push -qu origin HEAD")
    try Shell.run("git clone -q \(address(name)) \(place).other")
  }

  private func push(_ here: String) -> String { "cd \(here) && git add -A && git commit -qm x && git push -q" }

  private func pull(_ name: String) -> Step {
    .shell("the other machine: git pull") { _ in "git -C \(home)/\(name).other pull -q" }
  }

  private func wholeFile() throws -> [Step] {
    let here = home + "/whole"
    try Shell.run("mkdir \(here) && cp \(vault) \(here)")
    try share(here, as: "vault")
    return [.shell(nil) { _ in "cp \(vault) \(here)" }, .shell(Self.wholeFilePush) { _ in push(here) }, pull("vault")]
  }

  /// The program encrypts one file for each change; the others are random bytes of the same length.
  private func pass() throws -> [Step] {
    let store = home + "/pass/store"
    let length = try size(store + "/github.gpg")
    for item in 0..<items {
      let folder = "\(store)/host\(item).example.com"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
      try Data((0..<length).map { _ in UInt8.random(in: 0...255) }).write(to: URL(fileURLWithPath: folder + "/user.gpg"))
    }
    try share(store, as: "pass")
    let insert = Step.shell("pass insert, git push") { round in
      "printf 'password %023d' \(round) | pass insert -e -f host\(round).example.com/user && pass git push -q"
    }
    return [insert, pull("pass")]
  }

  private func keePassXC() throws -> [Step] {
    let here = home + "/keepassxc", file = here + "/file.kdbx", key = home + "/keepassxc.key"
    let entries = (0..<items).map { item in
      let texts = [
        "Title": "host\(item)", "UserName": "user", "Password": "a password of thirty two letters",
        "URL": "https://host\(item).example.com",
      ]
      let strings = texts.map { "<String><Key>\($0)</Key><Value>\($1)</Value></String>" }
      return "<Entry><UUID>\(Self.identifier())</UUID>\(strings.joined())</Entry>"
    }
    let xml =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?><KeePassFile><Meta><Generator>x</Generator></Meta><Root><Group><UUID>"
      + "\(Self.identifier())</UUID><Name>Root</Name>\(entries.joined())</Group></Root></KeePassFile>"
    try Data(xml.utf8).write(to: URL(fileURLWithPath: home + "/keepassxc.xml"))
    // As little work for its key as it allows: the vault's is a key file too.
    try Shell.run("mkdir \(here) && keepassxc-cli import -q -t 100 --set-key-file \(key) \(home)/keepassxc.xml \(file)")
    try share(here, as: "keepassxc")
    let edit = "keepassxc-cli edit -q --no-password -k \(key) -p \(file)"
    return [
      .shell("keepassxc-cli edit") { round in "printf 'password %023d\\n' \(round) | \(edit) host\(round) 2>&1" },
      .shell("its file: git commit, push") { _ in push(here) },
      pull("keepassxc"),
    ]
  }

  private static func identifier() -> String { withUnsafeBytes(of: UUID().uuid) { Data($0).base64EncodedString() } }
}
