internal import CofferPlatform
internal import Synchronization
internal import SystemPackage

/// Keeps a mirror up to date on its own thread: whenever somebody may have committed, and periodically.
final class MirrorKeeper: Sendable {
  private let core: VaultCore
  private let file: FilePath
  private let told: @Sendable (Result<MirrorReport, StoreError>) -> Void
  private let bell: Bell
  private let isDue = Atomic<Bool>(true)
  private let hasEnded = Atomic<Bool>(false)

  /// The thread reads a vault and writes another.
  private static let stackBytes = 1 << 20
  /// The time between polls, and so the maximum age of the mirror without a notice.
  private let interval: Duration
  /// The pause after a refresh, as a multiple of its duration: copying a large, always changing vault takes a tenth of the
  /// time.
  private static let rest = 9
  /// The limit of that pause.
  private static let longestRest = Duration.seconds(60)

  init(
    _ core: VaultCore, file: FilePath, lookingEvery interval: Duration,
    _ told: @escaping @Sendable (Result<MirrorReport, StoreError>) -> Void
  )
    throws(StoreError)
  {
    self.core = core
    self.file = file
    self.interval = interval
    self.told = told
    bell = try Bell()
  }

  /// Begins with a refresh, and continues until the subscription ends.
  func start() throws(StoreError) -> Subscription {
    let watch = try core.place.watchServer { [self] in
      isDue.store(true, ordering: .releasing)
      bell.ring()
    }
    guard let watch else {
      // The error says which vaults have mirrors.
      _ = try core.run { (vault) throws(StoreError) in _ = try Mirroring(of: vault, to: file) }
      return Subscription {}
    }
    try DetachedThread.start(stackBytes: Self.stackBytes, place: file) { [self] in run() }
    return Subscription { [self] in
      watch.cancel()
      hasEnded.store(true, ordering: .releasing)
      bell.ring()
    }
  }

  private func run() {
    var (earliest, latest) = (ContinuousClock.now, ContinuousClock.now)
    while !hasEnded.load(ordering: .acquiring) {
      let start = ContinuousClock.now
      let next = isDue.load(ordering: .acquiring) ? earliest : latest
      guard next <= start else {
        bell.wait(for: next - start)
        continue
      }
      isDue.store(false, ordering: .releasing)
      let result = refreshed()
      told(result)
      if case .failure(let error) = result, error.kind == .closed { return }
      let end = ContinuousClock.now
      earliest = end + min((end - start) * Self.rest, Self.longestRest)
      latest = max(earliest, end + interval)
    }
  }

  private func refreshed() -> Result<MirrorReport, StoreError> {
    do throws(StoreError) {
      return .success(try core.run { (vault) throws(StoreError) in try Mirroring(of: vault, to: file).run { _, _ in } })
    } catch { return .failure(error) }
  }
}
