import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .wholeRun)
struct GitMoveTests {
  /// A home whose git uses its own helper `store`; skips the test without git.
  private func home(_ helper: String = "store") throws -> Home {
    let home = try Home.sound()
    try home.withHelpers()
    home.environment["HOME"] = home.path
    home.environment["GIT_CONFIG_NOSYSTEM"] = "1"
    home.environment["GIT_TERMINAL_PROMPT"] = "0"
    guard access("/usr/bin/git", X_OK) == 0 else { try Test.skip(without: "git") }
    _ = try home.file(".gitconfig", "[credential]\n\thelper = \(helper)\n")
    return home
  }

  private func fill(_ description: String, _ home: Home, path: String? = nil) throws -> String {
    let variables = path.map { ["PATH": $0] } ?? [:]
    let filled = try #require(try home.program(["git", "credential", "fill"], in: description + "\n\n", with: variables))
    let password = filled.out.split(separator: "\n").first { $0.hasPrefix("password=") }
    return password.map { String($0.dropFirst(9)) } ?? "\(filled.status): \(filled.err)"
  }

  private func helpers(_ home: Home) throws -> String {
    try #require(try home.program(["git", "config", "--global", "--get-regexp", "helper$"])).out
      .replacing("\(home.path)/bin/git-credential-", with: "BIN/")
  }

  @Test
  func `while git has its file locked nothing is cut out of it, and git waits for coffer's lock`() throws {
    let home = try home()
    let lines = "https://ada:p1@github.com\n"
    let file = try home.file(".git-credentials", lines)
    let lock = try home.file(".git-credentials.lock", "https://bob:p2@gitlab.com\n")
    let refused = try home.coffer("doctor --fix --yes")
    #expect(refused.status != 0 && refused.err.contains("git is writing to the file"), "\(refused.out)\(refused.err)")
    #expect(try home.content(".git-credentials") == lines && home.exists(".git-credentials.lock"))
    #expect(rename(lock, file) == 0)
    #expect(try home.coffer("doctor --fix --yes").status == 0)
    #expect(try home.content(".git-credentials").isEmpty && !home.exists(".git-credentials.lock"))
    try home.transcript("vault get https://gitlab.com bob", out: "p2")

    let held = try GitLock.take(FilePath(file))
    let store = ["git", "credential-store", "--file", file, "store"]
    let line = "protocol=https\nhost=git.example\nusername=eve\npassword=p3\n\n"
    let waited = try #require(try home.program(store, in: line))
    #expect(waited.status != 0 && waited.err.contains("lock"), "\(waited)")
    #expect(try home.content(".git-credentials").isEmpty)
    held.end()
    #expect(try home.program(store, in: line)?.status == 0)
    #expect(try home.content(".git-credentials") == "https://eve:p3@git.example\n")
  }

  @Test
  func `git goes on reading the lines that stay, and writes no other there`() throws {
    let home = try home()
    _ = try home.file(
      ".git-credentials", "https://ada:p1@github.com\nhttps://bob:p2@gitlab.com\nhttps://eve:p3@git.example:8443\n")
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("doctor --fix", in: home)
    for (question, answer) in [("Move https://github.com/ada ", "n\n"), ("Move https://gitlab.com/bob ", "y\n"), ("eve", "n\n")] {
      terminal.shows(question)
      terminal.type(answer)
    }
    terminal.shows("git still asks store")
    #expect(try child.wait() == 2)
    #expect(try home.content(".git-credentials") == "https://ada:p1@github.com\nhttps://eve:p3@git.example:8443\n")
    #expect(
      try helpers(home) == """
        credential.helper BIN/coffer
        credential.https://git.example:8443.helper store
        credential.https://github.com.helper store

        """)
    #expect(try fill("protocol=https\nhost=github.com", home) == "p1")
    #expect(try fill("protocol=https\nhost=gitlab.com", home) == "p2")
    #expect(try fill("protocol=https\nhost=git.example:8443", home) == "p3")
    _ = try home.program(
      ["git", "credential", "approve"], in: "protocol=https\nhost=gitlab.com\nusername=bob\npassword=p2\n\n")
    #expect(try !home.content(".git-credentials").contains("p2"))
    #expect(try home.coffer("doctor --fix --yes").status == 0)
    #expect(try helpers(home) == "credential.helper BIN/coffer\n")
    #expect(try fill("protocol=https\nhost=github.com", home) == "p1")
  }

  @Test
  func `a line with a path stays served, and moves once git sends paths`() throws {
    let home = try home()
    let line = "http://bot:tok@intern.example/repo.git\n"
    _ = try home.file(".git-credentials", "https://ada:p1@github.com\n" + line)
    let request = "protocol=http\nhost=intern.example\npath=repo.git"
    #expect(try fill(request, home) == "tok")
    let answer = try home.coffer("doctor --fix --yes")
    #expect(answer.status == 2 && answer.out.contains("credential.http://intern.example.useHttpPath true"), "\(answer.err)")
    #expect(try home.content(".git-credentials") == line)
    #expect(try fill(request, home) == "tok")
    #expect(try fill("protocol=https\nhost=github.com", home) == "p1")
    _ = try home.program(["git", "config", "--global", "credential.http://intern.example.useHttpPath", "true"])
    #expect(try home.coffer("doctor --fix --yes").status == 0)
    #expect(try home.content(".git-credentials").isEmpty && fill(request, home) == "tok")
    #expect(try helpers(home) == "credential.helper BIN/coffer\n")
  }

  @Test
  func `of two users of one server git gets the one that it got before`() throws {
    let home = try home()
    let request = "protocol=https\nhost=github.com"
    let lines = "https://zoe:p1@github.com\nhttps://ada:p2@github.com\nhttps://bob:p3@github.com\n"
    _ = try home.file(".git-credentials", lines)
    #expect(try fill(request, home) == "p1")
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("doctor --fix", in: home)
    terminal.shows("Move https://github.com/zoe ")
    terminal.type("n\n")
    terminal.showsAll()
    #expect(try child.wait() == 2)
    #expect(terminal.shown.contains("a line above it stays") && !terminal.shown.contains("Move https://github.com/ada"))
    #expect(try home.content(".git-credentials") == lines && fill(request, home) == "p1")
    try home.transcript("vault set https://github.com zoe", in: "p1")
    #expect(try home.coffer("doctor --fix --yes").status == 0)
    #expect(try home.content(".git-credentials").isEmpty && fill(request, home) == "p1")
    #expect(try fill(request + "\nusername=bob", home) == "p3")
  }

  @Test
  func `a file that git's configuration names is found and moves as the others`() throws {
    let home = try home("store --file ~/.my-git-creds")
    _ = try home.file(".my-git-creds", "https://ada:p1@github.com\n")
    _ = try home.file(".config/git/credentials", "https://bob:p2@gitlab.com\n")
    #expect(try fill("protocol=https\nhost=github.com", home) == "p1")
    #expect(try home.coffer("doctor").out.contains("\(home.path)/.my-git-creds"))
    #expect(try home.coffer("doctor --fix --yes").status == 0)
    #expect(try home.content(".my-git-creds").isEmpty && home.content(".config/git/credentials").isEmpty)
    #expect(try fill("protocol=https\nhost=github.com", home) == "p1")
    #expect(try helpers(home) == "credential.helper BIN/coffer\n")
  }

  @Test
  func `a file that only a shell can find is left alone, and git's setting for it too`() throws {
    let home = try home("store --file $HOME/creds")
    _ = try home.file("creds", "https://ada:p1@github.com\n")
    _ = try home.file(".git-credentials", "https://bob:p2@gitlab.com\n")
    let answer = try home.coffer("doctor --fix --yes")
    #expect(answer.status == 0 && answer.err.contains("store --file $HOME/creds"), "\(answer.err)")
    #expect(try helpers(home) == "credential.helper store --file $HOME/creds\ncredential.helper BIN/coffer\n")
    #expect(try fill("protocol=https\nhost=github.com", home) == "p1")
  }

  @Test
  func `git finds coffer without the PATH of a shell, and the message names the whole setting`() throws {
    let home = try home()
    let folder = home.path + "/a folder"
    try FileManager.default.moveItem(atPath: home.path + "/bin", toPath: folder)
    home.environment["PATH"] = "\(folder):/usr/bin:/bin"
    _ = try home.file(".git-credentials", "https://ada:p1@github.com\n")
    let answer = try home.coffer("doctor --fix --yes")
    let setting = folder.replacing(" ", with: "\\ ") + "/git-credential-coffer"
    #expect(answer.status == 0, "\(answer.err)")
    #expect(answer.err.contains("git config --global --add credential.helper '\(setting)'"), "\(answer.err)")
    #expect(try fill("protocol=https\nhost=github.com", home, path: "/usr/bin:/bin") == "p1")
  }

  @Test
  func `a helper of one server that takes no others has coffer beside it`() throws {
    let home = try home()
    _ = try home.file(
      ".gitconfig", "[credential]\n\thelper = store\n[credential \"https://github.com\"]\n\thelper =\n\thelper = store\n")
    _ = try home.file(".git-credentials", "https://ada:p1@github.com\nhttps://bob:p2@gitlab.com\n")
    #expect(try home.coffer("doctor --fix --yes").status == 0)
    #expect(try fill("protocol=https\nhost=github.com", home) == "p1")
    #expect(try fill("protocol=https\nhost=gitlab.com", home) == "p2")
    #expect(try !helpers(home).contains("store"))
  }
}
