import CofferMemory
import CofferStorage
import Foundation
import CofferTestSupport
import Testing

@testable import CofferCLI
@testable import CofferFormats

@Suite(.tags(.campaign, .process), .wholeRun)
struct EnvExportTests {
  private static let pieces: [String] = [
    "'", "\"", "\\", "$", "`", "$(touch pwned)", "`touch pwned`", "${HOME}", "$HOME", "\n", "\r", "\t", " ", "!", "!!", "#", ";",
    "&",
    "|", "<", ">", "(", ")", "*", "?", "[", "]", "{a,b}", "~", "=", "%", "^", "\u{1b}", "\u{7f}", "\u{85}", "é", "e\u{301}", "🔑",
    "a", "touch pwned", "\\n", "\\\n", "''", "$'", "$\"", "export", "\u{feff}", "-",
  ]

  private static func values(_ count: Int) -> [String] {
    var random = Random(campaign: "environment files")
    let single = pieces.map { "it's \($0) x" } + pieces + pieces.map { "'\($0)" } + pieces.map { "'\($0)'\($0)" }
    return single
      + (0..<count).map { _ in
        (0..<Int.random(in: 1...12, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
      }
  }

  @Test
  func `no shell runs what a value says, and every shell and import read back what was exported`() throws {
    let home = try Home.withVault()
    let values = Self.values(!Campaign.isLong ? 200 : 5_000)
    let items = try values.enumerated().map { index, value in
      try JSONSerialization.data(withJSONObject: ["service": "app", "account": "V\(index)", "value": value])
    }
    let list = Data("[".utf8) + items.joined(separator: Data(",".utf8)) + Data("]".utf8)
    #expect(try home.coffer("import --from json -", in: list).status == 0)
    let exported = try home.coffer("export --reveal --format env --service app")
    #expect(exported.status == 0, "\(exported.err)")
    let file = try home.file("app.env", exported.bytes)
    var shells = 0
    for shell in [["sh"], ["bash"], ["bash", "--posix"], ["dash"], ["zsh"], ["busybox", "sh"]] {
      let print = (0..<values.count).map { "printf '%s\\0' \"$V\($0)\"" }.joined(separator: "\n")
      let script = try home.file("print.sh", ". \(file)\n\(print)\n")
      guard let read = try home.program(["env", "-C", home.path] + shell + [script]), read.status != 127 else {
        Test.skipPart(without: shell[0])
        continue
      }
      shells += 1
      #expect(read.status == 0 && read.err.isEmpty, "\(shell): \(read.err)")
      let found = read.out.split(separator: "\0", omittingEmptySubsequences: false).dropLast()
      #expect(found.count == values.count)
      for (value, seen) in zip(values, found) where value.utf8.elementsEqual(seen.utf8) == false {
        Issue.record("\(shell) reads \(seen.debugDescription) for \(value.debugDescription)")
      }
      #expect(!home.exists("pwned"), "\(shell) ran a value")
    }
    let content = try Home.secret(exported.out)
    let entries = try EnvFile.read(content, place: "f")
    #expect(entries.count == values.count)
    for entry in entries {
      let index = try #require(Int(entry.name.dropFirst()))
      #expect(entry.value.bytes.withUnsafeBytes { $0.elementsEqual(values[index].utf8) }, "\(values[index].debugDescription)")
    }
    Swift.print("environment files: \(values.count) values in \(shells) shells")
  }

  /// Names that the shells here may not list: they set them later, in functions, or in a module.
  private static let unlisted = [
    "BASH_SOURCE", "FUNCNAME", "PIPESTATUS", "DIRSTACK", "GROUPS", "ERRNO", "ZLE_RPROMPT_INDENT", "LOGCHECK", "HISTFILESIZE",
    "TMOUT",
    "REPLY", "MAPFILE", "OPTARG", "LC_ALL", "LC_CTYPE", "LC_COLLATE", "TZ", "IGNOREEOF", "GLOBIGNORE", "POSIXLY_CORRECT", "USER",
    "MAIL", "MAILPATH", "RPS1", "RPS2", "RPROMPT", "RPROMPT2", "SPROMPT", "PROMPT_EOL_MARK", "POSTEDIT", "WATCHFMT", "TIMEFMT",
  ]

  /// The names that shells here list, and the unlisted ones.
  private static func names(_ home: Home) throws -> Swift.Set<String> {
    let modules = ["datetime", "system", "mapfile", "langinfo", "zleparameter", "sched", "parameter"].map { "zsh/\($0)" }
    var names = Swift.Set(unlisted)
    for list in [
      ["bash", "-c", "compgen -v"], ["bash", "-ic", "compgen -v"], ["dash", "-c", "set | sed 's/=.*//'"],
      ["zsh", "-fc", "zmodload \(modules.joined(separator: " ")); print -l ${(k)parameters}"],
    ] {
      names.formUnion(try home.program(list)?.out.split(separator: "\n").map(String.init) ?? [])
    }
    return names.filter { $0.wholeMatch(of: /[A-Za-z_][A-Za-z0-9_]*/) != nil }
  }

  @Test
  func `an interactive shell runs no value of a variable that is exported`() throws {
    let names = try Self.names(Home()).filter { !ShellVariables.own($0) }.sorted()
    for shell in [["bash", "--norc", "--noprofile", "-i"], ["zsh", "-f", "-i"]] {
      for isMail in [false, true] {
        let home = try Home.withVault()
        let items = names.map { name in
          let command = "$(: >\(home.path)/ran-\(name))"
          return ["service": "app", "account": name, "value": isMail ? "\(home.path)/mail?\(command)" : command]
        }
        #expect(try home.coffer("import --from json -", in: JSONSerialization.data(withJSONObject: items)).status == 0)
        let exported = try home.coffer("export --reveal --format env")
        #expect(exported.status == 0, "\(exported.err)")
        let file = try home.file("app.env", exported.bytes)
        _ = try home.file("mail", "")
        let terminal = try PseudoTerminal()
        guard let child = try terminal.program(shell, in: home, with: ["TERM": "dumb", "PS1": "> "]) else {
          Test.skipPart(without: shell[0])
          continue
        }
        // Mail is checked a second later, together with names read after a mistyped command.
        terminal.type(
          "MAILCHECK=1; [ -z \"$ZSH_VERSION\" ] || setopt prompt_subst correct\n. \(file)\necho \"sourced-$((1 + 1))\"\n")
        terminal.shows("sourced-2")
        terminal.type(
          "/bin/sleep 2\necho more >>\(home.path)/mail\nif :\nthen :\nfi\nset -x\n:\nset +x\necho \"looked-$((1 + 1))\"\n")
        terminal.shows("looked-2")
        terminal.type("ehco hi\n")
        terminal.type("n\n")
        terminal.type("exit\n")
        terminal.type("exit\n")
        terminal.showsAll()
        _ = try child.wait()
        let ran = try FileManager.default.contentsOfDirectory(atPath: home.path).filter { $0.hasPrefix("ran-") }
        #expect(ran.isEmpty, "\(shell[0]) ran \(ran.sorted())")
      }
    }
  }

  @Test
  func `a variable of a shell's own is not exported, and every other name is read back, as is the variable after it`() throws {
    let home = try Home.withVault()
    let names = try Self.names(home)
    for value in ["it is: a b", "42", ""] { try readBack(names.filter { !ShellVariables.own($0) }.sorted(), value) }
    for name in ["RANDOM", "UID", "SHELLOPTS", "_", "status", "USERNAME", "options", "MAILPATH", "MAIL", "RPROMPT", "path"] {
      let home = try Home.withVault()
      try home.transcript("vault set app A", in: "1")
      try home.transcript("vault set app \(name)", in: "42")
      try home.transcript(
        "export --reveal --format env", err: "'app/\(name)': the account is a variable that shells set themselves", exit: 2)
    }
    let file = try home.file("f", "RANDOM='a[$(touch \(home.path)/pwned)]'\n")
    if try home.program(["bash", "-c", ". \(file)"]) != nil { #expect(home.exists("pwned")) }
  }

  private func readBack(_ names: [String], _ value: String) throws {
    let home = try Home.withVault()
    let items = names.map { ["service": "app", "account": $0, "value": value] }
    #expect(try home.coffer("import --from json -", in: try JSONSerialization.data(withJSONObject: items)).status == 0)
    let exported = try home.coffer("export --reveal --format env")
    #expect(exported.status == 0, "\(exported.err)")
    let lines = exported.out.split(separator: "\n")
    #expect(lines.count == names.count)
    var script = ""
    for line in lines {
      let name = line.prefix { $0 != "=" }
      let file = try home.file("\(name).env", "\(line)\nNEXT_ONE='later'\n")
      script += "( . \(file); printf '%s|%s|\(name)\\n' \"$\(name)\" \"$NEXT_ONE\" )\n"
    }
    let read = try home.file("read.sh", script)
    for shell in [["sh"], ["bash"], ["zsh", "-f"], ["dash"]] {
      guard let answer = try home.program(shell + [read]), answer.status != 127 else { continue }
      let found = Swift.Set(answer.out.split(separator: "\n").map(String.init))
      for name in names { #expect(found.contains("\(value)|later|\(name)"), "\(shell[0]) does not read \(name)='\(value)' back") }
    }
  }
}
