import CofferPlatform
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferSync

@Suite struct RemoteNameTests {
  @Test(arguments: [
    ("/srv/vault", "/srv/vault"), ("/srv//vault/", "/srv/vault"), ("/srv/x/../vault", "/srv/vault"), ("/a:b", "/a:b"),
    ("/a://b@c", "/a:/b@c"),
    ("git@host:ada/vault.git", "git@host:ada/vault.git"), ("host:vault", "host:vault"),
    ("ssh://ada@host:22/vault.git", "ssh://ada@host:22/vault.git"), ("ssh://ada@host/~/v.git", "ssh://ada@host/~/v.git"),
    ("https://host/v.git", "https://host/v.git"), ("git+https://host/v", "git+https://host/v"),
    ("http://[::1]:80/v.git", "http://[::1]:80/v.git"),
    ("rclone:drive:", "rclone:drive:"), ("rclone:my drive:vault", "rclone:my drive:vault"),
    ("command:carry", "command:carry"), ("command:/usr/bin/carry", "command:/usr/bin/carry"),
  ])
  func `a remote's text is read, and reads back to the same`(_ given: String, _ text: String) throws {
    let name = try RemoteName(given)
    #expect(name.text == text)
    #expect(try RemoteName(name.text) == name)
  }

  @Test func `a relative path names the same folder from everywhere`() throws {
    let here = FileManager.default.currentDirectoryPath
    #expect(try RemoteName("./v").text == here + "/v")
    #expect(try RemoteName("../v").text == URL(fileURLWithPath: here).deletingLastPathComponent().path + "/v")
    #expect(try RemoteName(".").text == here)
    #expect(try RemoteName("command:bin/carry").text == "command:\(here)/bin/carry")
  }

  @Test(arguments: [
    "", "vault", "-oProxyCommand=x", "--upload-pack=x", "~/vault", "a\u{1B}[2Jb:c", "x\ny:z",
    "/" + String(repeating: "a", count: 5_000),
    "ext::sh -c touch% x", "fd::3", "-host:path", "git@-oProxyCommand=x:path", "host:-path", "host:", ":path", "@host/x:y",
    "ssh://-oProxyCommand=x/path", "ssh://ada@-oProxyCommand=x/path", "ssh:///path", "https:///path", "ftp://host/v", "file:///v",
    "postgresql://host/db", "ext::sh://x", "rclone:", "rclone:drive", "rclone:-x:y", "rclone::s3,secret_access_key=x:bucket",
    "rclone:drive,pass=x:vault", "command:", "command:-x",
  ])
  func `any other text is refused with a cure`(_ text: String) throws {
    try expect(.invalidName) { _ = try RemoteName(text) }
  }

  @Test(arguments: [
    "https://ada:hunter2@host/v.git", "https://hunter2@host/v.git", "https://host/v.git?token=hunter2", "https://host/v#hunter2",
    "http://a@b:hunter2@host/v", "ssh://ada:hunter2@host/v", "ssh://ada%3Ahunter2@host/v", "git+https://ada:hunter2@host/v",
    "ada:hunter2@host:v.git", "rclone::webdav,pass=hunter2:", "ssh://x:hunter2@y@host/v",
  ])
  func `an address with a place for a secret is refused, and not repeated`(_ text: String) throws {
    let error = try expect(.invalidName) { _ = try RemoteName(text) }
    #expect(!error.description.contains("hunter2"))
  }

  @Test(.tags(.process), .defaultRun)
  func `a look at a path tells a bare repository from a folder, and a checked out one is refused`() throws {
    let folder = try TestFolder("remote-name"), cache = folder.path.appending("cache")
    func carrier(_ name: String) throws -> any Carrier {
      try RemoteName(folder.path.appending(name).string).carrier(folder: cache, groups: { Sample.groups(of: $0) })
    }
    #expect(try carrier("nothing") is FolderCarrier)
    try Remote.run(["git", "init", "--quiet", "--bare", folder.path.appending("bare").string])
    #expect(try carrier("bare") is GitCarrier)
    try Remote.run(["git", "init", "--quiet", folder.path.appending("tree").string])
    try expect(.unsupported) { _ = try carrier("tree") }
    for text in ["rclone:drive:x", "command:carry"] {
      #expect(try RemoteName(text).carrier(folder: cache, groups: { Sample.groups(of: $0) }) is ProgramCarrier)
    }
    #expect(try RemoteName("git@host:v").carrier(folder: cache, groups: { Sample.groups(of: $0) }) is GitCarrier)
  }

  @Test func `names of pieces are read only as they are written`() throws {
    let hash = String(repeating: "0a", count: 32)
    for text in ["h/1-\(hash)", "h/4611686018427387903-\(hash)", "o/\(hash)"] { #expect(PieceName(text)?.description == text) }
    let wrong = [
      "h/01-\(hash)", "h/+1-\(hash)", "h/-1-\(hash)", "h/0-\(hash)", "h/1-\(hash.uppercased())", "h/1-\(hash)0",
      "h/1-\(hash.dropLast(2))", "h/\(hash)",
      "o/\(hash) ", "o/\(hash).tmp", "o/1-\(hash)", "o/", "h/", "", "x/\(hash)", "o//\(hash)", "./o/\(hash)",
      "h/18446744073709551616-\(hash)", "o/\(hash.dropLast(2))zz", "o/٠٠\(hash.dropLast(2))",
    ]
    for text in wrong { #expect(PieceName(text) == nil, "\(text)") }
  }
}
