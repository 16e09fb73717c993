#if Services
  internal import Coffer
  internal import CofferPlatform
  public import CofferStorage
  internal import CofferVault
  public import Logging
  internal import Metrics
  public import ServiceLifecycle
  internal import Tracing

  /// The stores of a server program as a service of its group: opened first, watched while the group runs, closed last.
  ///
  /// ```swift
  /// let storage = try StorageService(logger: logger) {
  ///   try StorageRouter.open("com.example.service", keys: keys, credentials: .standard())
  /// }
  /// let server = Application(router: routes(over: storage.app))
  /// try await ServiceGroup(services: [storage, server], logger: logger).run()
  /// ```
  ///
  /// A group ends its services in reverse, so the first one closes the stores when no other uses them any more.
  ///
  /// While it runs, it records slow steps in `swift-metrics`, each as a timer with the dimension `outcome`, `done` or `failed`,
  /// and as a span of `swift-distributed-tracing` that has ended, below the span in which the step ran:
  ///
  /// | timer and span | step |
  /// |---|---|
  /// | `coffer.lock.wait` | the wait of a write that found the lock taken |
  /// | `coffer.fold` | the plain store's changes written into the property list |
  /// | `coffer.renewal` | the renewal of a session's credential, by the one who asks the server |
  /// | `coffer.agent.call` | a question to the agent and its answer |
  /// | `coffer.vault.commit` | a change of the vault, with the wait for its lock |
  ///
  /// The gauge `coffer.vault.locked` is 1 while the vault is locked, and 0 while it is open. Of several such services in one
  /// process, the first to run records the steps of all.
  public struct StorageService: Service {
    /// The stores, for the other services.
    public let app: StorageRouter
    private let logger: Logger

    /// Opens the stores.
    ///
    /// - Parameters:
    ///   - logger: gets the messages of all vaults of the process, and reports when this one is locked or unlocked.
    ///   - open: opens the router.
    /// - Throws: the error of `open`.
    public init(logger: Logger = Logger(label: "coffer"), opening open: () throws(StoreError) -> StorageRouter) throws(StoreError)
    {
      self.logger = logger
      Notices.send(to: logger)
      app = try open()
    }

    /// Watches and records until the group shuts down or the task is cancelled, and then closes the router. The vault's owner
    /// locks it.
    ///
    /// - Throws: `StoreError` if the vault cannot be watched, and the errors of closing the router.
    public func run() async throws {
      let (events, feed) = AsyncStream.makeStream(of: StepFeed.Event.self, bufferingPolicy: .bufferingNewest(StepFeed.most))
      let place = StepFeed.join(feed)
      defer { StepFeed.leave(place) }
      let watch = try app.vault.changes.subscribe { if case .access = $0 { feed.yield(.access) } }
      defer { watch.cancel() }
      var wasLocked: Bool?
      feed.yield(.access)
      for await event in events.cancelOnGracefulShutdown() {
        switch event {
        case .step(let step): record(step)
        case .access: look(&wasLocked)
        }
      }
      try app.close()
    }

    private func record(_ step: StepFeed.Ended) {
      let name = "coffer.\(step.step.rawValue)"
      Timer(label: name, dimensions: [("outcome", step.failed ? "failed" : "done")]).record(duration: step.took)
      let span = InstrumentationSystem.tracer.startSpan(
        name, context: step.context, ofKind: step.step == .agentCall ? .client : .internal, at: step.start)
      if step.failed { span.setStatus(SpanStatus(code: .error)) }
      span.end(at: step.end)
    }

    private func look(_ wasLocked: inout Bool?) {
      var isLocked = false
      do {
        // Of no item: whether there is one is not the question.
        _ = try app.vault.version(of: "coffer.locked")
      } catch {
        guard [.locked, .noAgent].contains(error.kind) else {
          logger.error("the vault cannot be read", metadata: ["error": "\(error)"])
          return
        }
        isLocked = true
      }
      Gauge(label: "coffer.vault.locked").record(isLocked ? 1 : 0)
      if let wasLocked, wasLocked != isLocked { logger.notice("the vault was \(isLocked ? "locked" : "unlocked")") }
      wasLocked = isLocked
    }
  }
#endif
