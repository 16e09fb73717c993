public import CofferPlatform
internal import CofferStorage
public import CofferValues
internal import Synchronization

/// A value that a test sets and that notes its writes, for code that receives its values.
///
/// ```swift
/// let userID = MockPersistedValue<String?>("ada")
/// let model = ViewModel(userID: userID.eraseToAnyPersistedValue())
/// model.logOut()
/// #expect(userID.inputs == [nil])
/// ```
public final class MockPersistedValue<Value: Sendable>: PersistedValue {
  /// Unknown: it merges with nothing.
  public typealias Sensitivity = Undisclosed

  private struct State {
    var output: Value
    var inputs: [Value] = []
    var outputsCount = 0
    var failure: StoreError?
    var reported: [StoreError] = []
  }
  private let state: Mutex<State>
  /// Whether it claims to come from a vault.
  public let isSecret: Bool

  /// A value that reads as `output`.
  public init(_ output: Value, isSecret: Bool = false) {
    state = Mutex(State(output: output))
    self.isSecret = isSecret
  }

  /// The value that reads return. Setting it does not count as an input; a write sets it.
  public var output: Value {
    get { state.withLock(\.output) }
    set { state.withLock { $0.output = newValue } }
  }
  /// The written values, in order, without failed writes.
  public var inputs: [Value] { state.withLock(\.inputs) }
  /// The number of reads.
  public var outputsCount: Int { state.withLock(\.outputsCount) }
  /// The failures of `wrappedValue`.
  public var reported: [StoreError] { state.withLock(\.reported) }

  /// Makes reads and writes fail from now on; nil stops that.
  public func fail(with failure: StoreError?) { state.withLock { $0.failure = failure } }

  /// The output.
  public func load() throws(StoreError) -> Value {
    try state.withLock { (state) throws(StoreError) in
      state.outputsCount += 1
      if let failure = state.failure { throw failure }
      return state.output
    }
  }

  /// Notes `value` and makes it the output.
  public func save(_ value: Value) throws(StoreError) {
    try state.withLock { (state) throws(StoreError) in
      if let failure = state.failure { throw failure }
      state.inputs.append(value)
      state.output = value
    }
  }

  /// The output, even if reads fail.
  public var fallback: Value { output }
  /// Notes `failure`.
  public func report(_ failure: StoreError) { state.withLock { $0.reported.append(failure) } }
}
