import CofferTestSupport
import Foundation
import Testing

@Suite(.tags(.campaign, .process), .wholeRun)
struct ObservationChurnTests {
  @Test
  func `where the system's limits are reached, observing is refused, keeps nothing, and works once they are not`() throws {
    let home = try SessionHome()
    let run = try home.run("exhausted", home.path)
    let lines = run.output.split(separator: "\n").filter { !$0.contains("notice coffer") }
    #expect(run.status == 0 && lines.count == 5 && lines.dropFirst(3) == ["heard", "acknowledged"], "\(run.output)")
    for line in lines.prefix(3) { #expect(line.hasPrefix("refused: ") && line.contains("watch the folder"), "\(line)") }
  }

  @Test
  func `observations that begin and end one after the other leave no descriptor, no thread and no inotify instance behind`()
    throws
  {
    let home = try SessionHome()
    let isLong = Campaign.isLong
    let run = try home.run("churn-subscriptions", home.path, isLong ? "100000" : "300")
    print(run.output)
    #expect(run.status == 0, "\(run.output)")
    let lines = run.output.split(separator: "\n")
    let counts = lines.filter { $0.contains("more descriptors") }
    #expect(counts.count == 5 && lines.contains("inotify: 1"))
    for line in counts {
      let words = line.split(separator: " ")
      let place = try #require(words.firstIndex(of: "times,"))
      let (descriptors, threads) = (Int(words[place + 1]) ?? 99, Int(words[place + 4]) ?? 99)
      // The thread pool may grow once to the number of processors, and by a few more on a busy machine, but not with each of
      // some hundred observations.
      #expect(descriptors <= 1 && threads <= ProcessInfo.processInfo.activeProcessorCount + 8, "\(line)")
    }
  }
}
