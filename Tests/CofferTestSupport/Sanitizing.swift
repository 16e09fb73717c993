internal import Foundation

/// What `.ci/thread-sanitizer` says, which holds for the processes too that a test starts with an environment of its own.
public enum Sanitizing {
  /// Empty where no sanitizer is at work.
  public static let environment = ProcessInfo.processInfo.environment.filter { ["LD_PRELOAD", "TSAN_OPTIONS"].contains($0.key) }
}
