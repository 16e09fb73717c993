import Coffer
import CofferServices
import CofferVault
import Foundation
import InMemoryLogging
import InMemoryTracing
import Logging
import Metrics
import MetricsTestKit
import ServiceLifecycle
import ServiceLifecycleTestKit
import Testing
import Tracing

/// The program's own systems, which a process sets once.
private enum Systems {
  static let metrics: TestMetrics = {
    let metrics = TestMetrics()
    MetricsSystem.bootstrap(metrics)
    return metrics
  }()
  static let tracer: InMemoryTracer = {
    let tracer = InMemoryTracer()
    InstrumentationSystem.bootstrap(tracer)
    return tracer
  }()
}

// One service records for the process.
@Suite(.serialized) struct StorageServiceTests {
  private let log = InMemoryLogHandler()
  private var logger: Logger { Logger(label: "service") { [log] _ in log } }

  /// Waits in a task until `condition` holds.
  private func poll(_ what: Comment, _ condition: () async throws -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(120)
    while try await !condition() {
      guard ContinuousClock.now < deadline else {
        Issue.record(what)
        return
      }
      try await Task.sleep(for: .milliseconds(5))
    }
  }

  private func isTimed(_ name: String) -> Bool { Systems.metrics.timers(label: name).contains { !$0.values.isEmpty } }

  @Test func `a service records slow steps below the span in which they ran, hears of locks, and closes its stores last`()
    async throws
  {
    let (metrics, tracer) = (Systems.metrics, Systems.tracer)
    metrics.reset()
    tracer.clearAll()
    let home = try ServiceHome()
    defer { try? FileManager.default.removeItem(at: home.folder) }
    let storage = try StorageService(logger: logger) { home.app }
    let app = storage.app, keys = home.keys
    try await testGracefulShutdown { trigger in
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await storage.run() }
        try await poll("the vault is looked at") { (try? metrics.expectGauge("coffer.vault.locked").lastValue) == 0 }
        try withSpan("request") { _ in
          try app.set(Sealed("token"), for: keys.token)
          try app.set("Hi", for: keys.greeting)
          try app.synchronize()
        }
        try await poll("both steps are recorded") { isTimed("coffer.vault.commit") && isTimed("coffer.fold") }
        // Other suites fold and commit too.
        func spans(_ name: String) -> [FinishedInMemorySpan] { tracer.finishedSpans.filter { $0.operationName == name } }
        try await poll("the spans have ended") {
          !spans("coffer.fold").isEmpty
            && spans("coffer.vault.commit").contains { $0.parentSpanID == spans("request").first?.spanID }
        }
        let request = try #require(spans("request").first)
        let commit = try #require(spans("coffer.vault.commit").first { $0.parentSpanID == request.spanID })
        #expect(commit.traceID == request.traceID)
        #expect(commit.startInstant.nanosecondsSinceEpoch <= commit.endInstant.nanosecondsSinceEpoch)

        try await home.vault.lock()
        try await poll("the lock is heard") { log.entries.contains { $0.message == "the vault was locked" } }
        #expect(try metrics.expectGauge("coffer.vault.locked").lastValue == 1)
        try await home.vault.unlock(with: home.credentials())
        try await poll("the unlock is heard") { log.entries.contains { $0.message == "the vault was unlocked" } }

        trigger.triggerGracefulShutdown()
        try await group.waitForAll()
      }
    }
    let error = #expect(throws: StoreError.self) { try app.set("Bye", for: keys.greeting) }
    #expect(error?.kind == .closed)
    #expect(!log.entries.contains { "\($0)".contains("token") })
  }

  @Test func `a renewal is recorded, refused or not`() async throws {
    let home = try ServiceHome()
    defer { try? FileManager.default.removeItem(at: home.folder) }
    Systems.metrics.reset()
    Systems.tracer.clearAll()
    let storage = try StorageService(logger: logger) { home.app }
    let running = Task { try await storage.run() }
    struct Session: KeySpace {
      let user = StorageKey("user", of: String.self).endsWithSession()
      let credential = StorageKey("credential", secret: String.self).endsWithSession()
    }
    let keys = Session()
    let app = try StorageRouter.inMemory(keys: keys)
    let session = try app.session(user: keys.user, credential: keys.credential)
    try await session.login(as: "ada") { try $0.set(Sealed("old"), for: keys.credential) }
    let stale = try await app.value(for: keys.credential)
    struct Refused: Error {}
    // Again, as the service may not run yet.
    try await poll("a refused renewal is recorded") {
      await #expect(throws: Refused.self) {
        try await session.refresh(keys.credential, replacing: stale) { _ in throw Refused() }
      }
      return isTimed("coffer.renewal")
    }
    running.cancel()
    try await running.value
    #expect(throws: StoreError.self) { try home.app.set("Bye", for: home.keys.greeting) }
  }

  @Test func `a service whose stores cannot be opened is none`() throws {
    let home = try ServiceHome()
    defer { try? home.remove() }
    let error = #expect(throws: StoreError.self) {
      try StorageService { () throws(StoreError) in
        try StorageRouter.open("coffer.settings", keys: home.keys, vault: home.vault)
      }
    }
    #expect(error?.kind == .refused)
  }
}
