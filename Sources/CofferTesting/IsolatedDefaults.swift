public import Testing

/// Gives each test, and each case of a parameterized one, its own ``TestHome``, which is removed afterward.
///
/// ```swift
/// @Test(.isolatedDefaults) func startsLight() throws {
///   let app = try #require(TestHome.current).open("com.example.app", keys: keys)
///   #expect(try app.value(for: keys.theme) == .light)
/// }
/// ```
public struct IsolatedDefaults: TestTrait, SuiteTrait, TestScoping {
  /// True: each test of a suite gets its own home.
  public var isRecursive: Bool { true }

  /// Runs a test, or a case of one, with its home.
  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    guard testCase != nil else { return try await function() }
    try await TestHome.withCurrent { try await function() }
  }
}

extension Trait where Self == IsolatedDefaults {
  /// A separate home for each test: see ``IsolatedDefaults``.
  public static var isolatedDefaults: IsolatedDefaults { IsolatedDefaults() }
}
