import Testing

@testable import CofferCLI
@testable import CofferTerminal

@Suite struct AgentReportTests {
  @Test func `a time that has just begun is told whole`() {
    let told: [(Int64, String)] = [
      (0, "0 s"), (59, "59 s"), (60, "1 min"), (89, "1 min"), (90, "2 min"), (899, "15 min"), (900, "15 min"), (3_569, "59 min"),
      (3_570, "1 h"), (3_600, "1 h"), (5_400, "1 h 30 min"), (28_799, "8 h"), (28_740, "7 h 59 min"),
    ]
    for (seconds, words) in told { #expect(Moment.words(seconds) == words) }
  }
}
