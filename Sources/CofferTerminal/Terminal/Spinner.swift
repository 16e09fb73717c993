internal import CofferPlatform
internal import SystemPackage

/// Tells that something takes its time and cannot say how much, as deriving a key from a passphrase does on purpose.
package enum Spinner {
  /// A spinner for less would only flicker.
  private static let patience: UInt32 = 150_000
  private static let pause: UInt32 = 100_000
  /// Room for the few calls of one drawing.
  private static let stackBytes = 256 << 10

  /// Shows `text` until ``StatusLine/clear()``, which whatever is said or asked brings about.
  package static func show(_ text: String, quiet: Bool) {
    if !quiet, StatusLine.isPossible { start(text) }
  }

  /// The thread takes no signal: whoever waits for one finds it as before. It ends with the line's turn.
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
