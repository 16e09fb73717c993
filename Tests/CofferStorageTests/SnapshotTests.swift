import CofferPlatform
import CofferStorage
import Dispatch
import Synchronization
import Testing

@Suite struct SnapshotTests {
  @Test func `values reads several keys in their order`() throws {
    let bench = try Bench()
    try bench.app.set(Sealed("1234"), for: bench.keys.pin)
    try bench.app.set(3, for: bench.keys.launches)
    let (pin, theme, launches, again) = try bench.app.values(
      bench.keys.pin, bench.keys.theme, bench.keys.launches, bench.keys.launches)
    #expect(try pin?.reveal() == "1234")
    #expect(theme == .light && launches == 3 && again == 3)
  }

  @Test func `no snapshot over both stores is torn, and no transaction lost`() throws {
    let bench = try Bench()
    let rounds = 400, writers = 2
    let running = Atomic<Int>(writers)
    let snapshots = Atomic<Int>(0)
    DispatchQueue.concurrentPerform(iterations: writers + 2) { thread in
      if thread < writers {
        for _ in 0..<rounds { unlessBusy { try increment(bench) } }
        running.subtract(1, ordering: .relaxed)
      } else {
        repeat {
          unlessBusy {
            let (launches, count, plainAgain) = try bench.app.values(bench.keys.launches, bench.keys.count, bench.keys.launches)
            #expect(launches == count ?? 0 && plainAgain == launches)
          }
          snapshots.add(1, ordering: .relaxed)
        } while running.load(ordering: .relaxed) > 0
      }
    }
    let values = try bench.app.values(bench.keys.launches, bench.keys.count)
    expectValues(values, rounds * writers, rounds * writers)
    #expect(snapshots.load(ordering: .relaxed) >= 2)
  }

  private func increment(_ bench: Bench) throws {
    try bench.app.transaction { tx in
      try tx.update(bench.keys.launches) { $0 += 1 }
      try tx.update(bench.keys.count) { $0 = ($0 ?? 0) + 1 }
    }
  }

  // Under this much contention sixteen conflicts in a row do happen: that is a valid answer, and retried.
  private func unlessBusy(_ body: () throws -> Void) {
    while true {
      do { return try body() } catch let error as StoreError where error.kind == .busy { continue } catch {
        Issue.record(error)
        return
      }
    }
  }
}
