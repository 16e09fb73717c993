internal import Foundation

/// The settings of `.ci/thread-sanitizer`, also for processes that a test starts with a separate environment.
public enum Sanitizing {
  /// Empty without a sanitizer.
  public static let environment = ProcessInfo.processInfo.environment.filter { ["LD_PRELOAD", "TSAN_OPTIONS"].contains($0.key) }
}
