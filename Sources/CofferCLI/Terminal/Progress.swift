internal import CofferPlatform

/// A line on a terminal that counts.
final class Progress {
  private let isShown: Bool
  /// What is counted, after a blank; nothing where it is items.
  private let unit: String
  private var lastPercent = -1

  init(isShown: Bool, unit: String = "") {
    self.isShown = isShown
    self.unit = unit
  }

  /// Shown at a terminal where neither quiet nor an answer for a program was asked for.
  convenience init(_ session: Session, json: Bool, unit: String = "") {
    self.init(isShown: !session.quiet && !json && isatty(STDERR_FILENO) == 1, unit: unit)
  }

  func show(_ done: Int, _ total: Int) {
    guard isShown, total > 0, case let percent = done * 100 / total, percent != lastPercent else { return }
    lastPercent = percent
    put("\r\(percent) % of \(total)\(unit)")
  }

  func clear() {
    guard isShown, lastPercent >= 0 else { return }
    lastPercent = -1
    put("\r\u{1B}[K")
  }

  private func put(_ text: String) {
    text.utf8Span.span.bytes.withUnsafeBytes { raw in do throws(Failure) { try Output.write(raw, to: STDERR_FILENO) } catch {} }
  }
}
