#if Services
  internal import Coffer
  internal import CofferPlatform
  public import CofferStorage
  internal import CofferVault
  public import Logging
  internal import Metrics
  public import ServiceLifecycle
  internal import Synchronization
  internal import Tracing

  /// A server's stores as a service of its group: opened first, watched while the group runs, closed last.
  ///
  /// ```swift
  /// let storage = try StorageService(logger: logger) {
  ///   try StorageRouter.open("com.example.service", keys: keys, credentials: .standard())
  /// }
  /// let server = Application(router: routes(over: storage.app))
  /// try await ServiceGroup(services: [storage, server], logger: logger).run()
  /// ```
  ///
  /// A group ends its services in reverse, so the first one closes the stores when no other service uses them.
  ///
  /// While it runs, it records slow steps as timers of swift-metrics, and as ended spans of swift-distributed-tracing below the
  /// span in which the step ran: `coffer.lock.wait`, `coffer.fold`, `coffer.renewal`, `coffer.agent.call` and
  /// `coffer.vault.commit`. The gauge `coffer.vault.locked` is 1 while the vault is locked, and 0 while it is open. If a process
  /// has several such services, the first to run records all steps.
  public struct StorageService: Service {
    /// The stores, for the other services.
    public let app: StorageRouter
    private let logger: Logger

    /// Opens the stores.
    ///
    /// - Parameters:
    ///   - logger: gets the messages of all the process's vaults, and reports when this one is locked or unlocked.
    ///   - open: opens the router.
    /// - Throws: the error of `open`.
    public init(logger: Logger = Logger(label: "coffer"), opening open: () throws(StoreError) -> StorageRouter) throws(StoreError)
    {
      self.logger = logger
      Notices.send(to: logger)
      app = try open()
    }

    private enum Event: Sendable {
      /// A step and the span in which it ran.
      case step(Measure.Step, Duration, end: UInt64, ServiceContext)
      /// The vault may have been locked or unlocked.
      case access
    }

    /// Most events that wait to be recorded: a few seconds of a busy service. Beyond that, the oldest are dropped.
    private static let most = 4096
    /// The running services. The first gets the steps.
    private static let feeds = Mutex<[(service: Int, feed: AsyncStream<Event>.Continuation)]>([])

    /// Watches and records until the group shuts down or the task is cancelled, and then closes the router. It does not lock
    /// the vault.
    ///
    /// - Throws: `StoreError` if the vault cannot be watched, and the errors of closing the router.
    public func run() async throws {
      let (events, feed) = AsyncStream.makeStream(of: Event.self, bufferingPolicy: .bufferingNewest(Self.most))
      let service = Self.feeds.withLock { feeds in
        feeds.append(((feeds.last?.service ?? 0) + 1, feed))
        return feeds[feeds.count - 1].service
      }
      defer { Self.feeds.withLock { $0.removeAll { $0.service == service } } }
      // A step's thread may hold a lock, so it does not run the program's metrics and tracing.
      Measure.report { step, took in
        let end = DefaultTracerClock.now.nanosecondsSinceEpoch
        _ = Self.feeds.withLock { $0.first }?.feed.yield(.step(step, took, end: end, ServiceContext.current ?? .topLevel))
      }
      let watch = try app.vault.changes.subscribe { if case .access = $0 { feed.yield(.access) } }
      defer { watch.cancel() }
      feed.yield(.access)
      var wasLocked: Bool?
      for await event in events.cancelOnGracefulShutdown() {
        switch event {
        case .step(let step, let took, let end, let context): record(step, took, end, context)
        case .access: await look(&wasLocked)
        }
      }
      try await app.close()
    }

    private func record(_ step: Measure.Step, _ took: Duration, _ end: UInt64, _ context: ServiceContext) {
      let name = "coffer.\(step.rawValue)"
      Timer(label: name).record(duration: took)
      let start = end - min(end, UInt64(max(0, took / .nanoseconds(1))))
      InstrumentationSystem.tracer.startSpan(
        name, context: context, ofKind: step == .agentCall ? .client : .internal,
        at: DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: start)
      ).end(at: DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: end))
    }

    private func look(_ wasLocked: inout Bool?) async {
      var isLocked = false
      // Any item will do, even a missing one.
      let vault = app.vault
      do throws(StoreError) {
        _ = try await CallQueues.call(within: nil, isRead: true) { () throws(StoreError) in
          try vault.version(of: "coffer.locked")
        }
      } catch {
        guard [.locked, .noAgent].contains(error.kind) else {
          return logger.error("the vault cannot be read", metadata: ["error": "\(error)"])
        }
        isLocked = true
      }
      Gauge(label: "coffer.vault.locked").record(isLocked ? 1 : 0)
      if let wasLocked, wasLocked != isLocked { logger.notice("the vault was \(isLocked ? "locked" : "unlocked")") }
      wasLocked = isLocked
    }
  }
#endif
