internal import CofferPlatform
internal import SystemPackage

/// Work of unknown length, such as deriving a key from a passphrase, which is slow on purpose.
package enum Spinner {
  /// A spinner for shorter work would only flicker.
  private static let patience: UInt32 = 150_000
  private static let pause: UInt32 = 100_000
  private static let stackBytes = 256 << 10

  /// Shown until ``StatusLine/clear()``, which any output or question calls.
  package static func show(_ text: String, quiet: Bool) { if !quiet, StatusLine.isPossible { start(text) } }

  /// The thread blocks all signals, which others still receive. It ends with the line's turn.
  private static func start(_ text: String) {
    let turn = StatusLine.begin(.plain)
    let frames = Display.errors.isUnicode ? ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"] : ["|", "/", "-", "\\"]
    let line = Cells.shorten(text, to: Display.errors.width - 3, .errors)
    var all = sigset_t(), before = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_BLOCK, &all, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    do throws(StoreError) {
      try DetachedThread.start(stackBytes: stackBytes, place: "terminal") {
        usleep(patience)
        var frame = 0
        while StatusLine.put("\(frames[frame % frames.count]) \(line)", turn: turn) {
          usleep(pause)
          frame += 1
        }
      }
    } catch {}  // Without a thread to spare nothing turns, and the work is done all the same.
  }
}
