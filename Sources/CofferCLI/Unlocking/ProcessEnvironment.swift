internal import Coffer

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// This process's environment.
enum ProcessEnvironment {
  /// The value of `name`; nil when it is not set or empty, as shells often leave it.
  static func value(_ name: String) -> String? {
    guard let value = Places.environment(name), !value.isEmpty else { return nil }
    return value
  }

  static func set(_ name: String, _ value: String) throws(Failure) {
    guard setenv(name, value, 1) == 0 else {
      throw Failure(StoreError(errno: errno, "set \(name) in the environment", place: "environment"))
    }
  }
}
