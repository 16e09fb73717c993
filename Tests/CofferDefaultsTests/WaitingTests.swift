import CofferTestSupport
import CofferPlatform
import CofferStorage
import Foundation
import Synchronization
import Testing

@testable import CofferDefaults

@Suite(.tags(.process), .defaultRun)
struct WaitingTests {
  @Test func `all threads that wait are told after one and the same time, and readers do not wait`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open()
    try store.save(.integer(1), for: "k")
    let tool = try Tool("hold", folder)
    _ = tool.firstLine()
    defer {
      tool.kill()
      tool.finish()
    }
    let begin = ContinuousClock.now
    let answers = Mutex<[(kind: StoreError.Kind?, after: Duration)]>([])
    // A thread for each: a queue has only as many as there are cores.
    for thread in 0..<5 {
      Thread.detachNewThread {
        let found = kind {
          if thread == 4 { try store.synchronize() } else { try store.save(.integer(Int64(thread)), for: "k") }
        }
        answers.withLock { $0.append((found, ContinuousClock.now - begin)) }
      }
    }
    var reads = 0
    while answers.withLock({ $0.count }) < 5 {
      #expect(try store.load("k") == .integer(1))
      reads += 1
      usleep(1_000)
    }
    let found = answers.withLock { $0 }
    #expect(found.map(\.kind) == Array(repeating: .busy, count: 5))
    // In sequence, each answer would come 5 s after the previous one.
    let times = found.map(\.after)
    #expect(try #require(times.max()) - #require(times.min()) < .seconds(5))
    #expect(reads > 0)
  }

  @Test func `a wait for a thread that opens the same list names it and what it does`() throws {
    let folder = try TemporaryFolder()
    let list = folder.file("d.plist")
    let files = try ListFiles(resolving: list, makingFolder: true)
    let key = try EngineRegistry.Key(files)
    let found = Mutex(""), isDone = DispatchSemaphore(value: 0)
    _ = try EngineRegistry.open(key, .unshared, until: LockDeadline(after: .seconds(5))) { () throws(StoreError) in
      Thread.detachNewThread {
        do throws(StoreError) { _ = try EngineLease(list, EngineOptions(), until: LockDeadline(after: .zero)) } catch {
          found.withLock { $0 = error.description }
        }
        isDone.signal()
      }
      isDone.wait()
      return try DefaultsEngine(files, from: list, .unshared, until: LockDeadline(after: .seconds(5)))
    }
    EngineRegistry.release(key)
    #expect(found.withLock { $0 }.contains("another thread of this process is opening the list"))
  }
}
