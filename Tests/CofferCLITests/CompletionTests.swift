import Foundation
import Testing

@testable import CofferCLI

@Suite struct CompletionTests {
  @Test("each shell accepts its script", arguments: ["bash", "zsh", "fish"])
  func scripts(shell: String) throws {
    let home = try Home()
    let script = try home.coffer("completion \(shell)")
    #expect(script.status == 0 && script.out.contains("coffer") && script.err.isEmpty)
    let file = try home.file("script", script.out)
    guard let checked = try home.program([shell, "-n", file]) else { return print("skipped: \(shell) is not installed") }
    #expect(checked.status == 0, "\(checked.err)")
  }

  /// What the scripts ask the program: the words of the line and, in some shells, where the cursor is.
  private func offers(_ home: Home, _ line: String, _ argument: String) throws -> [String] {
    let command = line.split(separator: " ").dropFirst().prefix { !$0.hasPrefix("-") }
    let path = command.filter { word in ["vault", "get", "defaults", "read", "set", "show"].contains(String(word)) }.joined(
      separator: " ")
    let answer = try home.coffer("---completion \(path) -- \(argument) 0 0 \(line)")
    #expect(answer.err.isEmpty, "\(answer.err)")
    return answer.out.split(separator: "\n").map(String.init)
  }

  @Test("services, accounts, domains and keys are offered where they can be known without a question")
  func offers() throws {
    let home = try Home.withVault()
    try home.transcript("vault set github ada", in: "1")
    try home.transcript("vault set github bob", in: "1")
    try home.transcript("vault set gitlab eve", in: "1")
    try home.transcript("defaults write com.example.app theme dark")
    try home.transcript("set volume 3 --plain")
    try home.transcript("set token --secret", in: "1")
    #expect(try offers(home, "coffer vault get", "positional@0").sorted() == ["coffer", "github", "gitlab"])
    #expect(try offers(home, "coffer vault get github", "positional@1") == ["ada", "bob"])
    #expect(try offers(home, "coffer defaults read", "positional@0").sorted() == ["coffer", "com.example.app"])
    #expect(try offers(home, "coffer defaults read com.example.app", "positional@1") == ["theme"])
    #expect(try offers(home, "coffer get", "positional@0").sorted() == ["token", "volume"])
    home.locked()
    #expect(try offers(home, "coffer vault get", "positional@0").isEmpty)
    #expect(try offers(home, "coffer get", "positional@0") == ["volume"])
  }

  @Test("bash completes services through the script, also where only the agent has the vault open", arguments: [false, true])
  func bash(throughAgent: Bool) throws {
    let home = try Home.withVault()
    try home.withHelpers()
    try home.transcript("vault set github ada", in: "1")
    defer { if throughAgent { _ = try? home.coffer("agent stop") } }
    if throughAgent {
      try home.transcript("unlock --quiet")
      home.locked()
    }
    let script = try home.file("coffer.bash", home.coffer("completion bash").out)
    let test = """
      source \(script)
      COMP_WORDS=(coffer vault get gi); COMP_CWORD=3; COMP_LINE='coffer vault get gi'; COMP_POINT=19; COMP_TYPE=9
      _coffer coffer gi get
      printf '%s\\n' "${COMPREPLY[@]}"
      """
    guard let answer = try home.program(["bash", "-c", test]) else { return print("skipped: bash is not installed") }
    #expect(answer.out == "github\n", "\(answer)")
  }
}
