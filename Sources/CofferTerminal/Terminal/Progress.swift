internal import CofferPlatform

/// A bar, a number, and the time left.
package final class Progress {
  package struct Work {
    /// The text before the bar: `Rotating`.
    package let verb: String
    package var noun = "item"
    /// Work on this many items is shown at once, on fewer after `patience`.
    package var least = 256
    var onlyReads = false

    package static let rotating = Work(verb: "Rotating")
    package static let importing = Work(verb: "Importing")
    package static let verifying = Work(verb: "Verifying", onlyReads: true)
    package static let comparing = Work(verb: "Comparing", onlyReads: true)
    package static let auditing = Work(verb: "Auditing", onlyReads: true)
    package static let reading = Work(verb: "Reading", noun: "entry", onlyReads: true)
    package static let restoring = Work(verb: "Restoring")
    package static let mirroring = Work(verb: "Mirroring", noun: "record", onlyReads: true)
    package static let backingUp = Work(verb: "Backing up", noun: "page", least: 16)
  }

  private static let second: Int64 = 1_000_000_000
  /// Between two drawings: more often is not noticeable.
  private static let pause = second / 10
  /// Delay before small work is shown.
  private static let patience = second / 2

  private let work: Work
  private let isShown: Bool
  private var turn: Int?
  private var start: Int64?
  private var lastDrawn: Int64?

  /// Shown at a terminal unless `quiet`.
  package init(quiet: Bool, _ work: Work) {
    self.work = work
    isShown = !quiet && StatusLine.isPossible
  }

  package func show(_ done: Int, _ total: Int) {
    guard isShown, total > 0 else { return }
    let now = coffer_time_awake()
    let began = start ?? now
    start = began
    // After the last item comes the commit.
    let isEnding = !work.onlyReads && done >= total - 1
    if turn != nil, isEnding { StatusLine.set(.perhapsChanged) }
    guard total >= work.least || now - began >= Self.patience else { return }
    if let lastDrawn, now - lastDrawn < Self.pause { return }
    lastDrawn = now
    let line = work.line(done, of: total, after: now - began, .errors)
    // After other output, a new line begins.
    if let turn, StatusLine.put(line, turn: turn) { return }
    let new = StatusLine.begin(isEnding ? .perhapsChanged : .nothingChanged)
    turn = new
    StatusLine.put(line, turn: new)
  }

  package func clear() {
    guard turn != nil else { return }
    turn = nil
    (start, lastDrawn) = (nil, nil)
    StatusLine.clear()
  }

  package static func bar(_ done: Int, of total: Int, _ cells: Int, _ display: Display) -> String {
    let filled = min(cells, done * cells / total)
    let (full, empty) = display.isUnicode ? ("━", "─") : ("#", "-")
    return Style.green.text(String(repeating: full, count: filled), display)
      + Style.dim.text(String(repeating: empty, count: cells - filled), display)
  }
}

extension Progress.Work {
  private static let widestBar = 30
  /// Earlier, an estimate of the time left would jump.
  private static let leastTime: Int64 = 1_000_000_000

  /// The line for `done` of `total` after `elapsed` nanoseconds: on narrow screens without the time left, then without the
  /// bar.
  package func line(_ done: Int, of total: Int, after elapsed: Int64, _ display: Display) -> String {
    let percent = "\(String(repeating: " ", count: 3 - min("\(done * 100 / total)".count, 3)))\(done * 100 / total) %"
    let count = "\(grouped(done)) of \(grouped(total)) \(plural(total))"
    // One cell stays free: after the last one a terminal wraps.
    let room = display.width - 1
    var tail = "\(percent)  \(count)"
    if let left = left(done, of: total, after: elapsed), verb.count + tail.count + left.count + 5 <= room { tail += "   \(left)" }
    if verb.count + tail.count + 2 > room { tail = percent }
    let cells = min(Self.widestBar, room - verb.count - tail.count - 3)
    guard cells >= 5 else { return Cells.shorten("\(verb)  \(tail)", to: room, display) }
    return "\(verb) \(Progress.bar(done, of: total, cells, display)) \(tail)"
  }

  private func left(_ done: Int, of total: Int, after elapsed: Int64) -> String? {
    guard done > 0, done < total, elapsed >= Self.leastTime else { return nil }
    let seconds = Double(elapsed) / 1e9 / Double(done) * Double(total - done)
    return Moment.words(Int64(seconds.rounded(.up))) + " left"
  }

  private func plural(_ number: Int) -> String { number == 1 ? noun : noun.hasSuffix("y") ? noun.dropLast() + "ies" : noun + "s" }
}

/// `100 000`: digits in groups of three, for people.
package func grouped(_ number: Int) -> String {
  var digits = String(number)
  var end = digits.count - 3
  while end > 0 {
    digits.insert(" ", at: digits.index(digits.startIndex, offsetBy: end))
    end -= 3
  }
  return digits
}
