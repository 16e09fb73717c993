import CofferTestSupport
import ArgumentParser
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferTerminal

@Suite(.tags(.process), .defaultRun)
struct CommandLineArticleTests {
  @Test
  func `every command that it names exists`() throws {
    let rows = try CommandLineArticle.table("Commands")
    #expect(rows.count >= 28)
    for row in rows {
      var type: any ParsableCommand.Type = CofferCommand.self
      for word in row[0].split(separator: " ").dropFirst() where !type.configuration.subcommands.isEmpty {
        let next = type.configuration.subcommands.first { $0.answers(to: String(word)) }
        type = try #require(next, "\(row[0])")
      }
      #expect(type.configuration.subcommands.isEmpty, "\(row[0])")
    }
  }

  @Test
  func `every exit status is there with its meaning, and no other`() throws {
    let expected = ExitStatus.allCases.map { [String($0.rawValue), $0.meaning] }
    #expect(try CommandLineArticle.table("Exit status") == expected)
  }

  @Test
  func `every variable that it names is looked at`() throws {
    var sources = ""
    for folder in ["Sources/CofferCLI", "Sources/CofferFormats", "Sources/CofferTerminal", "Sources/Coffer"] {
      let path = CommandLineArticle.root.appending(path: folder).path()
      for file in try FileManager.default.subpathsOfDirectory(atPath: path) where file.hasSuffix(".swift") {
        sources += try String(contentsOfFile: path + "/" + file, encoding: .utf8)
      }
    }
    let rows = try CommandLineArticle.table("Environment")
    #expect(rows.count >= 12)
    for row in rows { #expect(sources.contains("\"\(row[0])\""), "\(row[0])") }
  }

  @Test
  func `its transcript is what happens`() throws {
    let home = try Home.withVault()
    let block = try CommandLineArticle.lines().drop { $0 != "```console" }.dropFirst().prefix { $0 != "```" }
    var commands: [(line: String, out: String)] = []
    for line in block {
      if line.hasPrefix("$ coffer ") {
        commands.append((String(line.dropFirst("$ coffer ".count)), ""))
      } else {
        commands[commands.count - 1].out += line + "\n"
      }
    }
    #expect(commands.count >= 11)
    for (line, out) in commands {
      let parts = line.components(separatedBy: " < ")
      try home.transcript(parts[0], in: parts.count > 1 ? "tok\n" : nil, out: out)
    }
  }

  @Test
  func `every JSON answer has the fields that it lists`() throws {
    let rows = try CommandLineArticle.table("JSON")
    #expect(rows.count >= 40)
    let text = try CommandLineArticle.sections("JSON").joined(separator: " ").replacing("`", with: "")
    let item = try #require(text.firstMatch(of: /"item" stands for ([^.]+)\./)).1.split(separator: " ").map(String.init)
    let home = try Home.withVault()
    try home.transcript("set theme dark --plain")
    try home.transcript("set token --domain coffer", in: "tok")
    try home.transcript("login github.com --with-token --quiet", in: "tok")
    try home.coffer("provider add github.com --client-id id")
    try home.coffer("ssh new work --for sign:git")
    // It needed the agent, whose status has more fields.
    try home.coffer("agent stop")
    try home.transcript("otp coffer/token --set", in: "GEZDGNBVGY3TQOJQ")
    defer { _ = try? home.coffer("agent stop") }
    _ = try home.file("files/app.env", "A=1\n")
    chmod(home.path + "/files", 0o700)
    for row in rows {
      let line = String(row[0].dropFirst("coffer ".count))
      let isInit = line.hasPrefix("init")
      let answer = try (isInit ? try Home() : home).coffer(
        line.replacing("PATH", with: "\(home.path)/new-key").replacing("DIR", with: "\(home.path)/files"))
      // These have findings: a test home has no bus.
      let finds = ["doctor", "vault audit", "secret-service status"].contains(where: line.hasPrefix)
      #expect(answer.status == 0 || finds, "\(line): \(answer.err)")
      let json = try JSONSerialization.jsonObject(with: answer.bytes)
      let object = try #require(json as? [String: Any] ?? (json as? [[String: Any]])?.first, "\(line)")
      let fields = row[1].split(separator: " ").map(String.init).flatMap { $0 == "item" ? item : [$0] }
      #expect(object.keys.sorted() == fields.sorted(), "\(line)")
    }
  }
}
