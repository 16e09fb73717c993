import CofferTestSupport
import Foundation
import Testing

final class PseudoTerminal {
  private let controller: Int32
  let path: String

  /// - Parameter size: by default enough for most messages and for lists without a pager. With nil none is reported.
  init(_ size: (columns: Int, lines: Int)? = (200, 1000)) throws {
    controller = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
    // unlockpt and ptsname are behind _XOPEN_SOURCE: these are their requests, TIOCSPTLCK and TIOCGPTN.
    var locked: Int32 = 0
    var number: Int32 = 0
    try #require(controller >= 0)
    try #require(ioctl(controller, 0x4004_5431, &locked) == 0 && ioctl(controller, 0x8004_5430, &number) == 0)
    path = "/dev/pts/\(number)"
    if let size { try resize(size) }
  }

  func resize(_ size: (columns: Int, lines: Int)) throws {
    var window = winsize(ws_row: UInt16(size.lines), ws_col: UInt16(size.columns), ws_xpixel: 0, ws_ypixel: 0)
    try #require(ioctl(controller, UInt(TIOCSWINSZ), &window) == 0)
  }

  deinit { vanish() }

  /// Closes the window, which hangs up the terminal's processes.
  func vanish() {
    if isThere { close(controller) }
    isThere = false
  }

  private var isThere = true

  /// The first terminal that a session leader opens becomes its own.
  func coffer(_ line: String, in home: Home, standardInput: String? = nil, at folder: String? = nil) throws -> Child {
    try Child(
      Home.words(line), environment: home.environment,
      opening: [0: (path, O_RDWR), 1: (path, O_RDWR), 2: (path, O_RDWR)].merging(standardInput.map { [3: ($0, O_RDONLY)] } ?? [:])
      { $1 }, at: folder)
  }

  var echoes: Bool { has(ECHO) }
  /// Whether it delivers input by line, as programs expect.
  var takesLines: Bool { has(ICANON) }

  private func has(_ flag: Int32) -> Bool {
    var settings = termios()
    tcgetattr(controller, &settings)
    return settings.c_lflag & tcflag_t(flag) != 0
  }

  func type(_ text: String) {
    let bytes = Array(text.utf8)
    _ = write(controller, bytes, bytes.count)
  }

  /// Reads until `text` was shown; returns everything shown so far.
  ///
  /// - Parameter look: called repeatedly meanwhile.
  @discardableResult
  func shows(_ text: String, every look: () -> Void = {}, _ location: SourceLocation = #_sourceLocation) -> String {
    let deadline = Date() + 120
    while !shown.contains(text), Date() < deadline {
      var waiting = pollfd(fd: controller, events: Int16(POLLIN), revents: 0)
      look()
      guard poll(&waiting, 1, 5) > 0 else { continue }
      var buffer = [UInt8](repeating: 0, count: 4096)
      let count = read(controller, &buffer, buffer.count)
      guard count > 0 else { break }
      shown += String(decoding: buffer.prefix(count), as: UTF8.self)
    }
    #expect(shown.contains(text), "the terminal shows: \(shown)", sourceLocation: location)
    return shown
  }

  /// Reads until no program has the terminal open.
  func showsAll() {
    var buffer = [UInt8](repeating: 0, count: 4096)
    while case let count = read(controller, &buffer, buffer.count), count > 0 {
      shown += String(decoding: buffer.prefix(count), as: UTF8.self)
    }
  }

  private(set) var shown = ""
}
