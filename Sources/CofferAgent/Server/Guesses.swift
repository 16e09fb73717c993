internal import CofferPlatform

/// Slows down guesses: each failure after the third doubles the wait.
///
/// An attack on the file costs Argon2id; the agent must not be cheaper.
struct Guesses {
  private var failures = 0
  private var notBefore = Duration.zero

  /// Failures without a wait.
  private static let free = 3
  /// The longest wait in seconds: an owner with the passphrase is back soon.
  private static let longest = 64

  /// - Throws: ``/CofferPlatform/StoreError/Kind/busy`` before the wait is over.
  func check(now: Duration, place: String) throws(StoreError) {
    guard now < notBefore else { return }
    throw StoreError(
      .busy, "\(failures) wrong secrets in a row", place: place, cure: "wait \((notBefore - now).components.seconds + 1) s")
  }

  mutating func failed(now: Duration) {
    failures += 1
    guard failures > Self.free else { return }
    notBefore = now + .seconds(min(Self.longest, 1 << min(failures - Self.free, 6)))
  }

  mutating func succeeded() { self = Guesses() }
}
