public import Testing

/// Needs of a test. Suites have the tags of most of their tests, single tests their own.
///
/// Each of these tags accompanies ``Testing/Trait/defaultRun`` or ``Testing/Trait/wholeRun``: such tests are too costly for
/// the fast run.
extension Tag {
  /// Starts other programs, and waits for them.
  @Tag public static var process: Self
  /// Ends programs at a chosen moment, fails their system calls, or simulates power loss.
  @Tag public static var kill: Self
  /// Tests more as root: it mounts, makes namespaces, or is several users. `COFFER_TESTS=root` adds only these to the fast
  /// ones.
  @Tag public static var root: Self
  /// Tries many cases of one kind. It may have a long form (see ``Campaign``).
  @Tag public static var campaign: Self
  /// Waits for a time limit, or works for seconds.
  @Tag public static var slow: Self
}
