import CofferTestSupport
import ArgumentParser
import Coffer
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .wholeRun)
struct ExitStatusTests {
  static let kinds: [(StoreError.Kind, Int32)] = [
    (.expired, 1), (.notFound, 1),
    (.ambiguous, 2), (.clockBehind, 2), (.kdfMemory(needs: 2, has: 1), 2), (.reentrant, 2), (.closed, 2), (.unencodable, 2),
    (.invalidName, 64), (.duplicateKey, 64), (.undeclared, 64), (.tooLarge(limit: 1), 64),
    (.undecodable(stored: "data"), 65), (.damaged, 65), (.notAVault, 65),
    (.tampered, 66), (.rolledBack, 66), (.forked, 66), (.replaced, 66),
    (.locked, 69), (.alreadyExists, 73),
    (.noSpace, 74), (.readOnly, 74), (.io(5), 74),
    (.busy, 75), (.conflict, 75), (.pending(.random()), 75),
    (.newerFormat(found: 2, supported: 1), 76),
    (.wrongSecret, 77), (.denied, 77), (.refused, 77), (.noVault, 78),
  ]

  @Test("every kind of error leaves the process with its own status", arguments: kinds)
  func kind(kind: StoreError.Kind, status: Int32) {
    let failure = Main.failure(StoreError(kind, "it happened", key: "k", place: "/p", cure: "do this"))
    #expect(failure?.status.rawValue == status)
    #expect(failure?.text == "coffer: 'k': it happened (/p)\n  try: do this")
    #expect(failure?.json.contains("\"code\":\(status),\"cure\":\"do this\",\"key\":\"k\",\"kind\":\"\(kind.word)\"") == true)
  }

  @Test("every kind has a word of its own in JSON")
  func words() { #expect(Swift.Set(Self.kinds.map(\.0.word)).count == Self.kinds.count) }

  @Test("errors of the parser are usage, help and version are no errors")
  func parser() {
    #expect(Main.failure(ValidationError("no"))?.status == .usage)
    #expect(Main.failure(ExitCode(3))?.status == .usage)
    #expect(Main.failure(CleanExit.message("done")) == nil)
    #expect(Main.failure(SecretMemoryError.exhausted(bytes: 1))?.status == .io)
  }

  @Test("coffer help exit-codes prints each status once")
  func table() throws {
    let answer = try Home().coffer("help exit-codes")
    #expect(answer.status == 0)
    let lines = answer.out.split(separator: "\n")
    for status in ExitStatus.allCases {
      #expect(lines.count { $0.drop { $0 == " " } == "\(status.rawValue)  \(status.meaning)" } == 1)
    }
    #expect(lines.count == ExitStatus.allCases.count + 1)
  }

  @Test("an error in JSON has every field, null where it does not apply, and goes to standard error")
  func json() throws {
    let home = try Home()
    try home.transcript(
      "defaults read app theme --json",
      err: #"{"error":{"code":1,"cure":"coffer defaults read app shows what is","key":"theme","kind":"notFound","#
        + #""message":"nothing is stored in domain 'app'","place":null}}"#,
      exit: 1)
  }
}
