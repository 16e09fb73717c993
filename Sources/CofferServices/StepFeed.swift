#if Services
  internal import CofferPlatform
  internal import Synchronization
  internal import Tracing

  /// The slow steps of the process on their way to the service that records them. The thread of a step, which may hold a lock,
  /// does not run the program's metrics and tracing.
  enum StepFeed {
    enum Event: Sendable {
      case step(Ended)
      /// The vault may have been locked or unlocked.
      case access
    }

    struct Ended: Sendable {
      let step: Measure.Step
      let took: Duration
      let failed: Bool
      /// Of the span in which the step ran.
      let context: ServiceContext
      let end = DefaultTracerClock.now

      var start: DefaultTracerClock.Timestamp {
        let (seconds, attoseconds) = took.components
        let nanoseconds = UInt64(max(0, seconds * 1_000_000_000 + attoseconds / 1_000_000_000))
        return .init(nanosecondsSinceEpoch: end.nanosecondsSinceEpoch - min(nanoseconds, end.nanosecondsSinceEpoch))
      }
    }

    /// Most steps that wait to be recorded, some seconds of a busy service's. Beyond it the oldest are not recorded.
    static let most = 4096

    private static let feeds = Mutex<[(place: Int, feed: AsyncStream<Event>.Continuation)]>([])

    /// - Returns: the place to ``leave(_:)``.
    static func join(_ feed: AsyncStream<Event>.Continuation) -> Int {
      Measure.report(to: { step, took, failed in
        let ended = Ended(step: step, took: took, failed: failed, context: ServiceContext.current ?? .topLevel)
        feeds.withLock { $0.first?.feed }?.yield(.step(ended))
      })
      return feeds.withLock { feeds in
        let place = (feeds.last?.place ?? 0) + 1
        feeds.append((place, feed))
        return place
      }
    }

    static func leave(_ place: Int) { feeds.withLock { $0.removeAll { $0.place == place } } }
  }
#endif
