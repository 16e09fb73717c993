import Foundation
import Testing

/// What commands leave that were killed, and file systems that cannot rename without replacing.
@Suite struct DraftTests {
  private func drafts(_ folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.contains(".coffer-draft") }.sorted()
  }

  /// Runs `coffer` under strace, which kills it at the `number`th call of `call`; nil where there is no strace that can.
  private func killed(_ home: Home, _ line: String, at call: String, _ number: Int) throws -> Int32? {
    try home.program(
      [
        "strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=\(call)", "-e", "inject=\(call):signal=KILL:when=\(number)",
        Home.coffer,
      ]
        + Home.words(line))?.status
  }

  @Test(
    "a killed command's draft is found by doctor at once, and removed by the next that writes; that of a living one stays",
    arguments: ["vault backup HOME/copy", "vault export HOME/other --new-key-file HOME/nk", "vault restore HOME/before --yes"])
  func leftovers(line: String) throws {
    let home = try Home.withVault()
    try home.transcript("vault set s a", in: "hunter2")
    try home.transcript("vault backup \(home.path)/before -q")
    let command = line.replacing("HOME", with: home.path)
    let (isLong, data) = (ProcessInfo.processInfo.environment["COFFER_LONG_TESTS"] != nil, home.path + "/data")
    var (left, rounds) = (0, 0)
    for round in isLong ? Array(1...40) : [1, 4, 7] {
      rounds += 1
      let status = try killed(home, command + " -q", at: "fdatasync,fsync", round)
      guard let status else { return print("skipped: there is no strace") }
      guard status != 0 else { break }
      guard status == 137 else { return print("skipped: strace cannot kill here (status \(status))") }
      let found = try drafts(data)
      let report = try home.coffer("doctor")
      let isLeft = try !found.isEmpty || !drafts(home.path + "/state/pins").isEmpty
      #expect(report.out.contains("left a draft") == isLeft, "\(report.out)")
      left += found.count
      try home.transcript("vault get s a", out: "hunter2")
      #expect(try drafts(data) == found, "reading removes nothing")
      try home.transcript("vault set s b", in: "x")
      #expect(try drafts(data).isEmpty, "\(command) at sync \(round)")
      for name in ["copy", "other", "nk"] { unlink(home.path + "/" + name) }
    }
    #expect(left > 0)
    print("\(command): \(left) files left in \(rounds) kills, none after the next write")
    // A command that was killed after its work was done may have left what it was to make.
    for name in ["copy", "other", "nk"] { unlink(home.path + "/" + name) }
    // What it left where it was to write is removed by the next that writes there.
    let again = try home.coffer(command + " -q")
    #expect(try again.status == 0 && drafts(home.path).isEmpty, "\(again.err)")
    #expect(try home.coffer("doctor").out.contains("left a draft") == false)
  }

  @Test("the draft of a command that runs is nobody's to remove, whatever other commands do meanwhile")
  func inUse() throws {
    let home = try Home.withVault()
    try home.transcript("vault set s a", in: "hunter2")
    guard access("/usr/bin/strace", X_OK) == 0 else { return print("skipped: there is no strace") }
    let null = (path: "/dev/null", flags: O_RDWR)
    let backup = try Child(
      [
        "-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync,fsync", "-e", "inject=fdatasync,fsync:delay_enter=1s:when=1",
        Home.coffer, "vault", "backup", home.path + "/copy", "-q",
      ], environment: home.environment, opening: [0: null, 1: null, 2: null], program: "/usr/bin/strace")
    #expect(try eventually { try drafts(home.path + "/data").contains { !$0.hasSuffix("-lock") } || home.exists("copy") })
    let found = try drafts(home.path + "/data")
    #expect(try home.coffer("doctor").out.contains("left a draft") == false)
    try home.transcript("vault set s b", in: "x")
    #expect(
      try home.exists("copy") || Set(drafts(home.path + "/data")).isSuperset(of: found.filter { $0.hasSuffix("-lock") }))
    #expect(try backup.wait() == 0)
    #expect(try home.exists("copy") && drafts(home.path + "/data").isEmpty && drafts(home.path).isEmpty)
  }

  @Test("an import that is killed in the middle and repeated adds all of it once")
  func importRepeated() throws {
    let home = try Home.withVault()
    let items = (0..<50).map { "{\"service\":\"s\",\"account\":\"\($0)\",\"value\":\"v\($0)\"}" }.joined(separator: ",")
    let file = try home.file("items.json", "[\(items)]")
    for round in 1...6 {
      guard let status = try killed(home, "vault import -q --from json \(file)", at: "pwrite64", round * 4) else {
        return print("skipped: there is no strace")
      }
      let there = try home.coffer("vault list s").out.split(separator: "\n").count
      #expect(there == (status == 0 ? 50 : there == 50 ? 50 : 0), "all or nothing: \(there)")
      if there == 50 { try home.transcript("vault import -q --from json \(file)", err: "such an item already", exit: 73) }
      for index in 0..<there { if index % 10 == 0 { try home.transcript("vault get s \(index)", out: "v\(index)") } }
      if there == 50 { break }
    }
    _ = try home.coffer("vault import -q --from json --on-duplicate skip \(file)")
    #expect(try home.coffer("vault list s").out.split(separator: "\n").count == 50)
    #expect(try home.coffer("vault verify").status == 0)
  }

  @Test("a vault is made, backed up and exported where a name cannot be given without replacing (bindfs)")
  func userSpaceFileSystem() throws {
    guard access("/dev/fuse", R_OK | W_OK) == 0 else { return print("skipped: there is no /dev/fuse for this user") }
    let home = try Home.withVault()
    for folder in ["real", "mounted"] {
      try FileManager.default.createDirectory(atPath: "\(home.path)/\(folder)", withIntermediateDirectories: false)
      chmod("\(home.path)/\(folder)", 0o700)
    }
    let mounted = home.path + "/mounted"
    guard let mount = try home.program(["bindfs", home.path + "/real", mounted]) else {
      return print("skipped: there is no bindfs")
    }
    guard mount.status == 0 else { return print("skipped: bindfs cannot mount here: \(mount.err)") }
    defer { _ = try? home.program(["fusermount", "-u", mounted]) ?? home.program(["umount", mounted]) }
    try home.transcript("--home \(mounted)/h init -q --new-key-file \(mounted)/key")
    let key = ["COFFER_KEY_FILE": mounted + "/key"]
    try home.transcript("--home \(mounted)/h vault set s a", in: "hunter2", with: key)
    try home.transcript("--home \(mounted)/h vault get s a", with: key, out: "hunter2")
    try home.transcript("--home \(mounted)/h vault backup -q \(mounted)/copy", with: key)
    try home.transcript("--home \(mounted)/h vault export -q \(mounted)/other --new-key-file \(mounted)/two", with: key)
    #expect(try home.coffer("--home \(mounted)/new vault restore -q --yes \(mounted)/copy", with: key).status == 0)
    try home.transcript("--home \(mounted)/new vault get s a", with: key, out: "hunter2")
    try home.transcript("--home \(mounted)/h init --new-key-file \(mounted)/x", err: "there is a vault already", exit: 73)
    #expect(try drafts(mounted).isEmpty && drafts(mounted + "/h/data").isEmpty)
  }
}
