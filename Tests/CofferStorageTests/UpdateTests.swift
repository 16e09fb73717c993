import CofferTestSupport
import CofferPlatform
import CofferStorage
import Foundation
import Testing

@Suite struct UpdateTests {
  struct Complaint: Error, Equatable { let number: Int }

  @Test func `no update is lost between threads`() throws {
    let bench = try Bench()
    DispatchQueue.concurrentPerform(iterations: 8) { _ in
      for _ in 0..<500 {
        do {
          try bench.app.update(bench.keys.launches) { $0 += 1 }
          try bench.app.update(bench.keys.count) { $0 = ($0 ?? 0) + 1 }
        } catch { Issue.record(error) }
      }
    }
    #expect(try bench.app.value(for: bench.keys.launches) == 4000)
    #expect(try bench.app.value(for: bench.keys.count) == 4000)
  }

  @Test func `the closure's own error comes back unchanged and nothing is written`() throws {
    let bench = try Bench()
    let error = #expect(throws: Complaint.self) {
      try bench.app.update(bench.keys.launches) { value in
        value = 9
        throw Complaint(number: 3)
      }
    }
    #expect(error == Complaint(number: 3))
    #expect(try !bench.app.contains(bench.keys.launches))
    let mine = StoreError(.notFound, "mine", cure: "none")
    let thrown = #expect(throws: StoreError.self) { try bench.app.update(bench.keys.count) { _ in throw mine } }
    #expect(thrown?.kind == .notFound && thrown?.key == nil)
  }

  @Test func `a Coffer call inside an update is refused, to the same store and to the other`() throws {
    let bench = try Bench()
    let calls: [(StorageRouter) throws -> Void] = [
      { _ = try $0.value(for: bench.keys.launches) },
      { try $0.set(1, for: bench.keys.launches) },
      { try $0.set("u", for: bench.keys.userID) },
      { _ = try $0.value(for: bench.keys.token) },
      { try $0.update(bench.keys.count) { $0 = 1 } },
      { _ = try $0.values(bench.keys.theme, bench.keys.userID) },
      { try $0.transaction { tx in try tx.set(.dark, for: bench.keys.theme) } },
      { _ = try $0.contains(bench.keys.theme) },
      { try $0.remove(bench.keys.theme) },
    ]
    for call in calls {
      try expect(.reentrant) { try bench.app.update(bench.keys.launches) { _ in try call(bench.app) } }
      try expect(.reentrant) { try bench.app.update(bench.keys.userID) { _ in try call(bench.app) } }
    }
    #expect(try bench.plain.names().isEmpty && bench.vault.names().isEmpty)
    try bench.app.update(bench.keys.launches) { $0 += 1 }
    #expect(try bench.app.value(for: bench.keys.launches) == 1)
  }
}
