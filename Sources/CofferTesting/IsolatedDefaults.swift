public import Testing

/// Gives each test, and each case of a parameterised one, a ``TestHome`` of its own, which is gone afterwards.
///
/// ```swift
/// @Test(.isolatedDefaults) func startsLight() throws {
///   let app = try #require(TestHome.current).open("com.example.app", keys: keys)
///   #expect(try app.value(for: keys.theme) == .light)
/// }
/// ```
public struct IsolatedDefaults: TestTrait, SuiteTrait, TestScoping {
  /// A suite's tests have it too.
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
  /// A home of its own for each test: see ``IsolatedDefaults``.
  public static var isolatedDefaults: IsolatedDefaults { IsolatedDefaults() }
}
