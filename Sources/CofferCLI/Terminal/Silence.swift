internal import Coffer
internal import CofferPlatform

/// A terminal without echo, for as long as this value lives.
struct Silence: ~Copyable {
  private let descriptor: Int32
  private let before: termios

  init(_ descriptor: Int32) throws {
    var settings = termios()
    guard tcgetattr(descriptor, &settings) == 0 else {
      throw Failure(StoreError(errno: errno, "read the terminal's settings", place: "/dev/tty"))
    }
    let before = settings
    settings.c_lflag &= ~tcflag_t(ECHO | ECHONL)
    guard tcsetattr(descriptor, TCSAFLUSH, &settings) == 0 else {
      throw Failure(StoreError(errno: errno, "turn the terminal's echo off", place: "/dev/tty"))
    }
    self.descriptor = descriptor
    self.before = before
  }

  consuming func end() {}

  deinit {
    var settings = before
    tcsetattr(descriptor, TCSAFLUSH, &settings)
  }
}
