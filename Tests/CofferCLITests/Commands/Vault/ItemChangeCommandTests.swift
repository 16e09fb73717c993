import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .defaultRun)
struct ItemChangeCommandTests {
  private func home() throws -> Home {
    let home = try Home.withVault()
    try home.transcript("vault set github ada --label 'My GitHub' --attribute env=prod", in: "hunter2")
    return home
  }

  @Test
  func `rename and copy take everything along, and replace nothing unasked`() throws {
    let home = try home()
    try home.transcript("vault copy github --to-account bob")
    #expect(try home.listed() == ["github/ada My GitHub", "github/bob My GitHub"])
    try home.transcript("vault rename github ada --to-service gitlab --to-account eve")
    #expect(try home.listed() == ["github/bob My GitHub", "gitlab/eve My GitHub"])
    try home.transcript("vault get gitlab eve", out: "hunter2")
    try home.transcript("vault get gitlab eve --field env", out: "prod")
    try home.transcript("vault rename github bob --to-service gitlab --to-account eve", err: "already exists", exit: 73)
    try home.transcript(
      "vault rename github bob --to-service gitlab --to-account eve", err: "or use --replace", exit: 73)
    try home.transcript("vault get github bob", out: "hunter2")
    try home.transcript("vault mv github bob --to-service gitlab --to-account eve --replace")
    #expect(try home.listed() == ["gitlab/eve My GitHub"])
    try home.transcript("vault rename gitlab --to-account ''")
    try home.transcript("vault get gitlab ''", out: "hunter2")
    try home.transcript("vault rename gitlab", err: "give the new name, --to-service, --to-account or --to-vault", exit: 64)
    try home.transcript("vault rename gitlab --to-service gitlab", err: "already has that name", exit: 64)
    try home.transcript("vault rename nowhere --to-service x", err: "'nowhere': no item with this name", exit: 1)
    let json = try home.coffer("vault log --json --limit 2").out
    #expect(json.contains("itemSet") && json.contains("itemDeleted"))
  }

  @Test
  func `edit changes one spelling of a text into the other, in labels and in the names of attributes`() throws {
    let home = try Home.withVault()
    let (one, two) = ("caf\u{E9}", "cafe\u{301}")
    try home.transcript("vault set s a --label \(one) --attribute \(one)=v", in: "x")
    func has(_ text: String) throws -> Bool { try home.coffer("vault show s --json").bytes.range(of: Data(text.utf8)) != nil }
    try home.transcript("vault edit s --label \(two)")
    #expect(try has(one) && has(two))
    try home.transcript("vault edit s --attribute \(two)=w")
    #expect(try !has(one) && has(two))
    try home.transcript("vault edit s --form", with: try editor(home, "LC_ALL=C sed -i 's/\(two)/\(one)/' $1"))
    #expect(try has(one) && !has(two))
  }

  @Test(arguments: [false, true])
  func `rename keeps the dates, and moves what has expired`(throughAgent: Bool) throws {
    let home = try home()
    defer { if throughAgent { _ = try? home.coffer("agent stop") } }
    try home.transcript("vault set old --expires 1s", in: "gone")
    if throughAgent { try home.transcript("unlock --quiet") }
    let dates = { (item: String) in
      let json = try home.coffer("vault show \(item) --json").bytes
      let fields = try #require(JSONSerialization.jsonObject(with: json) as? [String: Any])
      return ["created", "modified", "expires"].map { "\(fields[$0] ?? "")" }
    }
    let (token, old) = (try dates("github"), try dates("old"))
    #expect(try eventually { try home.coffer("vault get old").status != 0 })
    try home.transcript("vault rename github --to-service gitlab")
    try home.transcript("vault rename old --to-service older")
    #expect(try dates("gitlab") == token && dates("older") == old)
    try home.transcript("vault get gitlab", out: "hunter2")
    try home.transcript("vault get older", err: "the item has expired", exit: 1)
    try home.transcript("vault copy older --to-service x", err: "the item has expired", exit: 1)
    try home.transcript("vault list", out: try home.coffer("vault list").out)
    #expect(try home.coffer("vault verify --json").out.contains("\"records\":2"))
  }

  private func editor(_ home: Home, _ script: String) throws -> [String: String] {
    // Read by a shell, not executed: a child of another test's fork may hold the file open for writing.
    ["EDITOR": "/bin/sh " + (try home.file("editor", "\(script)\n"))]
  }

  @Test
  func `edit changes the value in memory alone, and wipes what it used`() throws {
    guard access("/dev/shm", W_OK) == 0 else { try Test.skip("there is no /dev/shm") }
    let home = try home()
    let seen = home.path + "/seen"
    // As a killed editor leaves it.
    let left = try home.file("run/coffer-edit-x1/value", "hunter2")
    chmod(home.path + "/run", 0o700)
    try home.transcript(
      "vault edit github",
      with: try editor(home, "ls -ld $(dirname $1) $1 > \(seen); cp $1 \(seen).copy; echo new-value > $1; cp $1 $1~"))
    try home.transcript("vault get github", out: "new-value")
    try home.transcript("vault get github --field label", out: "My GitHub")
    try home.transcript("vault get github --field env", out: "prod")
    let listing = try home.content("seen")
    #expect(listing.contains("drwx------") && listing.contains("-rw-------") && listing.contains("/dev/shm/coffer-edit-"))
    #expect(try home.content("seen.copy") == "hunter2")
    #expect(access(left, F_OK) != 0)
    let folder = try #require(listing.firstMatch(of: /\/dev\/shm\/coffer-edit-\w+/)).output
    #expect(access(String(folder), F_OK) != 0)
    try home.transcript("vault edit github --exact", with: try editor(home, "echo kept > $1"))
    try home.transcript("vault get github", out: "kept\n")
    try home.transcript("vault edit github", with: try editor(home, "printf 'from several words' > $2").mapValues { $0 + " -x" })
    try home.transcript("vault get github", out: "from several words")
  }

  @Test
  func `an editor that fails, is killed, or changes nothing leaves the item as it was`() throws {
    guard access("/dev/shm", W_OK) == 0 else { try Test.skip("there is no /dev/shm") }
    let home = try home()
    for (script, words) in [
      ("echo lost > $1; exit 3", "ended with status 3"), ("echo lost > $1; kill -9 $$", "killed by signal 9"),
      ("rm $1", "left no file"),
    ] {
      let answer = try home.coffer("vault edit github", with: try editor(home, script))
      #expect(answer.status != 0 && answer.err.contains(words), "\(answer.err)")
    }
    try home.transcript("vault edit github", with: ["EDITOR": "/no/such/editor"], err: "ended with status 127", exit: 2)
    try home.transcript("vault edit github", with: try editor(home, ":"), err: "nothing was changed")
    try home.transcript("vault edit github", with: try editor(home, ": > $1"), err: "the value is empty now", exit: 64)
    try home.transcript("vault edit nowhere", with: try editor(home, ":"), err: "no item with this name", exit: 1)
    let other = try editor(
      home, "echo mine > $1; printf other | COFFER_KEY_FILE=\(home.path)/key \(Home.coffer) vault set github ada")
    try home.transcript("vault edit github", with: other, err: "at revision 2", exit: 75)
    try home.transcript("vault get github", out: "other")
    let left = try FileManager.default.contentsOfDirectory(atPath: "/dev/shm").filter { $0.hasPrefix("coffer-edit-") }
    // Another test's editor may be at work.
    eventually("\(left) stays") { left.allSatisfy { access("/dev/shm/\($0)", F_OK) != 0 } }
  }

  @Test
  func `what a killed edit leaves is found at once, and wiped by the next one`() throws {
    guard access("/dev/shm", W_OK) == 0 else { try Test.skip("there is no /dev/shm") }
    let home = try home()
    // A folder of this test alone: the edit of another one would wipe what it finds in /dev/shm.
    let memory = "/dev/shm/coffer-test-\(UUID())"
    mkdir(memory, 0o700)
    defer { rmdir(memory) }
    home.environment["XDG_RUNTIME_DIR"] = memory
    let null = (path: "/dev/null", flags: O_RDWR)
    let at = home.path + "/at"
    home.environment.merge(try editor(home, "echo $1 > \(at).new; mv \(at).new \(at); exec sleep 600")) { $1 }
    let edit = try Child(["vault", "edit", "github"], environment: home.environment, opening: [0: null, 1: null, 2: null])
    eventually("the editor is at work") { home.exists("at") }
    let left = try home.content("at").trimmingCharacters(in: .newlines)
    #expect(try !home.coffer("doctor").out.contains(left.dropLast("/value".count)), "its maker lives")
    kill(edit.id, SIGKILL)
    #expect(try edit.wait() == 128 + SIGKILL && access(left, F_OK) == 0)
    #expect(try home.coffer("doctor").out.contains("left a secret in memory (\(left.dropLast("/value".count)))"))
    try home.transcript("vault edit github", with: try editor(home, ":"), err: "nothing was changed")
    #expect(access(left, F_OK) != 0)
  }

  @Test
  func `the editor is not told what unlocks the vault`() throws {
    guard access("/dev/shm", W_OK) == 0 else { try Test.skip("there is no /dev/shm") }
    let home = try home()
    try home.transcript(
      "vault edit github", with: try editor(home, "env > \(home.path)/env"), err: "nothing was changed")
    #expect(try !home.content("env").contains("COFFER_KEY_FILE"))
  }
}
