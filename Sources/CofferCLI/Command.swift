internal import ArgumentParser

/// A command of this program: does its work with a session, and leaves every error to `Main`.
protocol Command: ParsableCommand {
  var common: CommonOptions { get }
  var wantsJSON: Bool { get }
  /// Whether the command starts another program, which may need the rights of a set-user-id file.
  static var startsPrograms: Bool { get }
  func perform(_ session: Session) throws
}

extension Command {
  var wantsJSON: Bool { false }
  static var startsPrograms: Bool { false }
}
