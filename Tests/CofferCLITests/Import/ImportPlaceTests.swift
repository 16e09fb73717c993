import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

/// What an import reads, before a vault is opened: these homes have none.
@Suite(.tags(.process), .defaultRun) struct ImportPlaceTests {
  @Test func `a program's name in place of a file is answered with --from`() throws {
    let home = try Home()
    try home.transcript("import pass", err: "--from pass? coffer import --from pass", exit: 64)
    try home.transcript("import Bitwarden", err: "--from bitwarden? coffer import --from bitwarden FILE", exit: 64)
  }

  @Test func `a folder that is no pass store is refused without a word of its files`() throws {
    let home = try Home()
    for number in 0..<5 { _ = try home.file("folder/\(number)/notes.txt", "x") }
    for words in ["", "--from pass ", "--from gopass "] {
      let answer = try home.coffer("import \(words)\(home.path)/folder")
      #expect(answer.status == 1 && answer.err.contains("the folder is not a pass store"), "\(answer.err)")
      #expect(!answer.err.contains("notes.txt"))
    }
    for (folder, file) in [("store", ".gpg-id"), ("part", "web/ada.gpg")] {
      _ = try home.file("\(folder)/\(file)", "x")
      let answer = try home.coffer("import \(home.path)/\(folder)")
      #expect(answer.status == 78 && !answer.err.contains("no pass store"), "\(answer.err)")
    }
  }

  @Test func `without a file, the secrets on this machine are listed with the commands that import them`() throws {
    let home = try Home()
    try home.transcript("import", err: "no secrets to import were found on this machine", exit: 1)
    home.environment["HOME"] = home.path
    _ = try home.file(".password-store/web/ada.gpg", "x")
    _ = try home.file(".git-credentials", "https://ada:hunter2@git.example\n")
    _ = try home.file(".config/git/credentials", "https://ada:hunter2@git.example\n")
    _ = try home.file(".netrc", "machine a.example login ada password hunter2\n")
    _ = try home.file(".docker/config.json", "{}")
    let answer = try home.coffer("import")
    #expect(answer.status == 0 && !answer.out.contains("hunter2"), "\(answer.err)")
    let commands = [
      "coffer import --from pass", "coffer import --from git-credentials",
      "coffer import --from git-credentials \(home.path)/.config/git/credentials", "coffer import --from netrc",
    ]
    let lines = answer.out.split(separator: "\n")
    #expect(lines.count == 4 && zip(lines, commands).allSatisfy { $0.hasPrefix($1) }, "\(answer.out)")
    let json = try #require(try JSONSerialization.jsonObject(with: home.coffer("import --json").bytes) as? [String: Any])
    let found = try #require(json["found"] as? [[String: String]])
    #expect(found.compactMap { $0["command"] } == commands)
    #expect(
      found.first == ["from": "pass", "file": "\(home.path)/.password-store", "command": "coffer import --from pass"])
  }

  @Test(arguments: [
    ("https://Six.example:443/@x?a@b", "six.example"), ("six.example:443", "six.example"),
    ("ssh://u@h.example/p", "ssh://h.example"),
    ("http://h.example:80/x", "http://h.example"), (#"https://github.com\@evil.example"#, "t"), ("https:///x", "t"),
  ])
  func `only an address of https becomes the bare host, without its own port`(url: String, service: String) throws {
    let found = try ImportFixture.items(Data("name,url,username,password\nt,\(url),,pw\n".utf8), .chrome)
    #expect(found.values == ["\(service)/": "pw"])
  }
}
