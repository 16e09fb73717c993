import CofferTestSupport
import Foundation
import Testing

@Suite(.tags(.process), .defaultRun)
struct WatchTests {
  private struct Watching {
    let child: Child
    private let home: Home
    private let names: [String]

    init(_ line: String, in home: Home) throws {
      self.home = home
      names = try ["watch.in", "watch.out", "watch.err"].map { try home.file($0) }
      child = try Child(
        Home.words(line), environment: home.environment,
        opening: [0: (names[0], O_RDONLY), 1: (names[1], O_WRONLY), 2: (names[2], O_WRONLY)])
    }

    var out: [String] { (try? String(contentsOfFile: names[1], encoding: .utf8))?.split(separator: "\n").map(String.init) ?? [] }
    var err: String { (try? String(contentsOfFile: names[2], encoding: .utf8)) ?? "" }

    func wait(_ condition: ([String]) -> Bool) -> Bool { eventually { condition(out) } }

    /// Writes to `theme` of `domain` until the first line appears: the program must start first.
    func waitForFirstLine(writingTo domain: String) throws -> Bool {
      var number = 0
      return try eventually {
        number += 1
        try home.transcript("defaults write \(domain) theme v\(number)")
        return !out.isEmpty
      }
    }
  }

  @Test(arguments: [(SIGINT, 130), (SIGTERM, 143)] as [(Int32, Int32)])
  func `a line for each change of the key, at once, until control-C`(signal: Int32, status: Int32) throws {
    let home = try Home()
    try home.transcript("defaults write app other 1")
    let watching = try Watching("watch --plain --domain app theme --json", in: home)
    #expect(try watching.waitForFirstLine(writingTo: "app"))
    let before = watching.out.count
    try home.transcript("defaults write app other 2")
    try home.transcript("defaults delete app theme")
    #expect(watching.wait { $0.count > before && $0.last?.contains("removed") == true })
    for line in watching.out.dropLast() {
      #expect(line.hasPrefix(#"{"cause":"set","domain":"app","key":"theme","process":"#), "\(line)")
      #expect(line.hasSuffix(#","store":"defaults"}"#))
    }
    kill(watching.child.id, signal)
    #expect(try watching.child.wait() == status)
    #expect(watching.err.isEmpty)
  }

  @Test
  func `both stores of a domain, without values`() throws {
    let home = try Home.withVault()
    try home.transcript("set token --domain coffer", in: "s3cret")
    let watching = try Watching("watch", in: home)
    #expect(try watching.waitForFirstLine(writingTo: "coffer"), "\(watching.err)")
    try home.transcript("set token", in: "an0ther")
    #expect(watching.wait { $0.contains("token: set in vault by another program") }, "\(watching.out) \(watching.err)")
    #expect(watching.out.contains { $0.hasPrefix("theme: set in defaults by ") })
    #expect(!watching.out.joined().contains("v1") && !watching.out.joined().contains("an0ther"))
    kill(watching.child.id, SIGINT)
    #expect(try watching.child.wait() == 130)
  }

  @Test
  func `where there are no preferences yet, the first is told`() throws {
    let home = try Home()
    let watching = try Watching("watch --plain", in: home)
    #expect(try watching.waitForFirstLine(writingTo: "coffer"), "\(watching.err)")
    kill(watching.child.id, SIGINT)
    #expect(try watching.child.wait() == 130)
  }

  @Test
  func `a bad key is refused before anything is watched`() throws {
    try Home().transcript("watch ''", err: "the key name is empty", exit: 64)
  }
}
