import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

@Suite(.serialized, .tags(.process), .defaultRun)
struct TourTests {
  @Test
  func `the tour makes its claims, all of them hold, and nothing is left`() throws {
    let home = try Home()
    _ = try home.file("tmp/x")
    let answer = try home.coffer("tour", with: ["TMPDIR": home.path + "/tmp"])
    #expect(answer.status == 0, "\(answer.err)")
    for number in 1...7 { #expect(answer.out.contains("\n\(number). ")) }
    #expect(answer.out.contains("ok: refused with exit status 66"))
    #expect(answer.out.components(separatedBy: "ok: the token is nowhere").count == 3)
    #expect(!answer.out.contains("\u{1B}"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: home.path + "/tmp") == ["x"])
    #expect(!home.exists("data"))
  }

  @Test
  func `--home keeps the files, and a vault that is there stays as it is`() throws {
    let home = try Home()
    #expect(try home.coffer("tour --home \(home.path)/kept").status == 0)
    #expect(home.exists("kept/data/vault.sqlite") && home.exists("kept/tour.key") && home.exists("kept/config/tour.plist"))
    #expect(!home.exists("kept/copy"))
    try home.transcript("get notifications --domain tour --home \(home.path)/kept", out: "true")
    try home.transcript("tour --home \(home.path)/kept", err: "there is already a vault", exit: 73)
  }

  @Test(arguments: [SIGINT, SIGTERM])
  func `a tour that is interrupted takes its files with it`(signal: Int32) throws {
    let home = try Home()
    _ = try home.file("tmp/x")
    // A tour that ends before the signal proves nothing and is repeated.
    for _ in 0..<200 {
      let out = try home.file("out")
      let child = try Child(
        ["tour"], environment: home.environment.merging(["TMPDIR": home.path + "/tmp"]) { $1 },
        opening: [0: ("/dev/null", O_RDONLY), 1: (out, O_WRONLY), 2: (out, O_WRONLY)])
      #expect(try eventually { try home.content("out").contains("1. ") })
      kill(child.id, signal)
      let status = try child.wait()
      #expect(try FileManager.default.contentsOfDirectory(atPath: home.path + "/tmp") == ["x"])
      guard status == 0 else { return #expect(status == 128 + signal) }
    }
    Issue.record("each tour was over before it was interrupted")
  }
}
