import CofferPlatform
import CofferStorage
import CofferTestSupport
import Dispatch
import Synchronization
import Testing

@Suite struct ChangeFeedTests {
  @Test func `whoever subscribes while the feed ends hears of the end`() {
    var rounds: [(kept: Collected<Subscription>, heard: Collected<ChangeFeed.Event>)] = []
    for _ in 0..<2000 {
      let feed = ChangeFeed(), arrived = Atomic<Int>(0)
      let kept = Collected<Subscription>(), heard = Collected<ChangeFeed.Event>()
      DispatchQueue.concurrentPerform(iterations: 4) { side in
        arrived.add(1, ordering: .acquiringAndReleasing)
        // No barrier: one thread may have to take all sides.
        for _ in 0..<10_000 where arrived.load(ordering: .acquiring) < 4 {}
        guard side > 0 else { return feed.end() }
        do { kept.add(try feed.subscribe { heard.add($0) }) } catch { Issue.record(error) }
      }
      rounds.append((kept, heard))
    }
    eventually("all hear of it") { rounds.allSatisfy { $0.heard.all.count >= 3 } }
    #expect(rounds.allSatisfy { $0.kept.all.count == 3 && $0.heard.all == [.ended, .ended, .ended] })
  }
}
