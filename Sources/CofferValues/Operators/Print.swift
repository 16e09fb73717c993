public import CofferPlatform
internal import CofferStorage
internal import Synchronization

extension PersistedValues {
  /// A value that tells of its reads and writes.
  public struct Print<Base: ThrowingPersistedValue>: ValueOperator {
    /// What is read and written.
    public typealias Value = Base.Value
    /// The value beneath.
    public let base: Base
    fileprivate let lines: Lines

    /// The value now.
    public func load() throws(StoreError) -> Value {
      let value = try base.load()
      tell("get", value)
      return value
    }

    /// Stores a value.
    public func save(_ value: Value) throws(StoreError) {
      try base.save(value)
      tell("set", value)
    }

    /// Reads, changes and stores.
    public func mutate(_ body: (inout Value) throws -> Void) throws {
      var seen: (old: Value, new: Value)?
      try base.mutate { value in
        let old = value
        try body(&value)
        seen = (old, value)
      }
      guard let seen else { return }
      tell("get", seen.old)
      tell("set", seen.new)
    }

    private func tell(_ verb: String, _ value: Value) { lines.add("\(verb) value: (\(isSecret ? "•••" : "\(value)"))") }
  }
}

extension PersistedValues.Print: PersistedValue where Base: PersistedValue {
  /// What is read when the value cannot be.
  public var fallback: Value { base.fallback }
}

/// Lines with a prefix, to standard output or a stream.
private final class Lines: Sendable {
  private let prefix: String
  private let stream: Mutex<(any TextOutputStream & Sendable)?>

  init(_ prefix: String, _ stream: (any TextOutputStream & Sendable)?) {
    self.prefix = prefix.isEmpty ? "" : prefix + ": "
    self.stream = Mutex(stream)
  }

  func add(_ line: String) {
    let text = prefix + line
    stream.withLock { stream in
      if stream == nil { Swift.print(text) } else { stream?.write(text + "\n") }
    }
  }
}

extension ThrowingPersistedValue {
  /// The same value, telling each read as `prefix: get value: (…)` and each write as `prefix: set value: (…)` once it succeeded. A
  /// value of the vault shows as `•••`.
  ///
  /// - Parameters:
  ///   - prefix: the first word of each line.
  ///   - stream: where the lines go; standard output unless given.
  public func print(
    _ prefix: String = "", to stream: (any TextOutputStream & Sendable)? = nil
  ) -> PersistedValues.Print<Self> {
    PersistedValues.Print(base: self, lines: Lines(prefix, stream))
  }
}
