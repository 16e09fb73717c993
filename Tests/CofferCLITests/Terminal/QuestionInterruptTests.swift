import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

/// Control-C, control-D and a closed window at a command's question change nothing.
@Suite(.tags(.process), .wholeRun)
struct QuestionInterruptTests {
  struct Asked {
    let line: String, question: String

    init(_ line: String, _ question: String) {
      self.line = line
      self.question = question
    }
  }

  private static let questions = [
    Asked("vault delete github.com ada", "[y/N] "),
    Asked("vault delete github.com ada --forever", "[y/N] "),
    Asked("vault prune --keep 0", "[y/N] "),
    Asked("vault prune github.com ada --keep 0", "[y/N] "),
    Asked("vault rotate", "press Enter to continue: "),
    Asked("import --from netrc HOME/netrc", "[y/N] "),
    Asked("import --from coffer HOME/other", ": "),
    Asked("merge HOME/other", ": "),
    Asked("doctor --fix", "[y/N] "),
    Asked("recover", "vault.sqlite: "),
    Asked("vault otp --set github.com ada", ": "),
    Asked("vault set gitlab.com ada", ": "),
    Asked("vault set github.com ada --field pin", ": "),
    Asked("vault show github.com", "? "),
    Asked("vault delete github.com", "? "),
    Asked("vault slot add", ": "),
    Asked("defaults delete com.example.app", "[y/N] "),
    Asked("login github.com", ": "),
    Asked("login github.com --account ada", "[y/N] "),
  ]

  private static func home() throws -> Home {
    let home = try Home.withVault()
    home.environment.merge(["TERM": "xterm", "LANG": "C.UTF-8", "HOME": home.path + "/nobody"]) { $1 }
    for (line, value) in [
      ("vault set github.com ada", "one"), ("vault set github.com ada", "two"), ("vault set github.com bob", "three"),
      ("defaults write com.example.app theme dark", ""), ("vault slot add --recovery-code", ""),
    ] {
      #expect(try home.coffer(line, in: Data(value.utf8)).status == 0)
    }
    _ = try home.file("netrc", "machine example.com login ada password s3cret\n")
    _ = try home.file("nobody/.netrc", "machine example.com login ada password s3cret\n")
    let passphrase = try home.file("passphrase", "plum sofa kite unit")
    #expect(
      try home.coffer("export \(home.path)/other --service github.com --new-passphrase-file \(passphrase)").status == 0)
    return home
  }

  private static func content(of home: Home) throws -> [String] {
    let answers = try [
      "vault list --json", "vault history github.com ada --json", "list --deleted --json", "vault slot list --json",
      "defaults read com.example.app --json",
    ].map { try home.coffer($0).out }
    let files = try FileManager.default.subpathsOfDirectory(atPath: home.path).filter {
      !$0.hasPrefix("run") && !$0.hasPrefix(".run")
    }
    return answers + files.sorted() + [try home.content("nobody/.netrc")]
  }

  /// In one home: as each question changes nothing, the next finds the same state.
  @Test
  func `whatever ends a question leaves everything as it was`() throws {
    let home = try Self.home()
    let before = try Self.content(of: home)
    for asked in Self.questions {
      let line = asked.line.replacingOccurrences(of: "HOME", with: home.path)
      for key in ["\u{3}", "\u{4}", nil] {
        let terminal = try PseudoTerminal((80, 24))
        let child = try terminal.coffer(line, in: home)
        terminal.shows(asked.question)
        if let key { terminal.type(key) } else { terminal.vanish() }
        let status = try child.wait()
        #expect(key != "\u{3}" || status == 130, "\(status): \(terminal.shown)")
        #expect(key == nil || terminal.echoes)
      }
      #expect(try Self.content(of: home) == before, "\(line)")
    }
  }
}
