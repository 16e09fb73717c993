public import Testing

/// What a test takes. Suites have the tags of most of their tests, single tests their own.
///
/// Each of these tags stands beside ``Testing/Trait/defaultRun`` or ``Testing/Trait/wholeRun``: what takes so much is no part of
/// the fast run.
extension Tag {
  /// Starts other programs, and waits for them.
  @Tag public static var process: Self
  /// Ends programs at a chosen moment, fails their system calls, or takes the power away.
  @Tag public static var kill: Self
  /// Tests more where root runs it: it mounts, makes name spaces, or is several users. `COFFER_TESTS=root` takes no other but the
  /// fast ones.
  @Tag public static var root: Self
  /// Tries many cases of one kind. It may have a long form (see ``Campaign``).
  @Tag public static var campaign: Self
  /// Waits for a limit of time to pass, or works for seconds.
  @Tag public static var slow: Self
}
