import Coffer
import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferTerminal

@Suite(.tags(.process), .wholeRun)
struct BoundedCommandTests {
  /// As the program does at its start.
  init() { signal(SIGPIPE, SIG_IGN) }

  private func run(_ script: String, _ input: Int = 10, limit: Int? = nil, patience: Duration) throws -> (Int32, String) {
    let answer = try BoundedCommand.run(
      ["sh", "-c", script], input: Home.secret(String(repeating: "a", count: input)), limit: limit, patience: patience)
    return (answer.status, answer.output.withUnsafeBytes { String(decoding: $0, as: UTF8.self) })
  }

  @Test(arguments: [("sleep 1000", 10), ("sleep 1000", 1 << 20), ("head -c 1 >/dev/null; sleep 1000", 1 << 20)])
  func `one that hangs is killed with all that it started`(script: String, input: Int) throws {
    let folder = try TestFolder("hanging")
    let pids = folder.path.appending("pids").string
    let all = "echo $$ > '\(pids)'; \(script) & echo $! >> '\(pids)'; wait"
    #expect(throws: StoreError.self) { _ = try run(all, input, patience: .seconds(3)) }
    let killed = try String(contentsOfFile: pids, encoding: .utf8).split(separator: "\n").compactMap { pid_t($0) }
    #expect(!killed.isEmpty)
    for process in killed { eventually { !FileManager.default.fileExists(atPath: "/proc/\(process)/exe") } }
  }

  @Test func `one that prints nothing of what it is asked for is killed when the time is over`() throws {
    #expect(throws: StoreError.self) { _ = try run("exec sleep 5", limit: 10, patience: .milliseconds(300)) }
    #expect(throws: StoreError.self) { _ = try run("echo some; exec sleep 5", limit: 10, patience: .milliseconds(300)) }
  }

  @Test func `one that leaves a program behind, which keeps its input, has come to an end`() throws {
    #expect(try run("cat >/dev/null; sleep 2 & exit 0", patience: .seconds(60)) == (0, ""))
    #expect(try run("exit 7", patience: .seconds(60)).0 == 7)
    #expect(try run("kill -9 $$", patience: .seconds(60)).0 == 137)
  }

  @Test func `what one prints is taken up to a limit, and not waited for longer than for the rest`() throws {
    #expect(try run("cat", 100_000, limit: 1 << 20, patience: .seconds(60)) == (0, String(repeating: "a", count: 100_000)))
    #expect(try run("exec yes", limit: 1000, patience: .seconds(60)).0 == 141)
  }
}
