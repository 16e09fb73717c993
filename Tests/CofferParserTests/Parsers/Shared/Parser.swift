/// A reader of foreign bytes, as a fuzzer and a test call it.
public struct Parser: Sendable {
  /// The name of its seed folder, and of its line in a report.
  public let name: String
  /// The most bytes of an input: short inputs are tried more often, and no rule of the parser needs longer ones.
  public let longest: Int
  /// Words of the format, also used to make inputs.
  public let words: [String]
  /// Files and folders of `Fixtures` that are additional inputs.
  public let fixtures: [String]
  /// Reads an input and checks its promises: throws a ``BrokenPromise``, or the input's refusal.
  private let read: @Sendable ([UInt8]) throws -> Void

  /// A parser, whose `read` throws its refusal of an input.
  public init(
    _ name: String, longest: Int = 1024, words: [String] = [], fixtures: [String] = [],
    _ read: @escaping @Sendable ([UInt8]) throws -> Void
  ) {
    self.fixtures = fixtures
    self.name = name
    self.longest = longest
    self.words = words
    self.read = read
  }

  /// Whether the parser accepts `input`.
  ///
  /// - Throws: ``BrokenPromise``, also if the input is refused with an error that no input explains.
  public func accepts(_ input: [UInt8]) throws -> Bool {
    do {
      try read(input)
      return true
    } catch let broken as BrokenPromise {
      throw broken
    } catch {
      if let why = Refusals.unexplained(error) { throw BrokenPromise("it is refused with \(why)") }
      return false
    }
  }
}

/// A promise for every input that fails for one.
public struct BrokenPromise: Error, CustomStringConvertible {
  /// The promise.
  public let description: String
  /// A broken promise: `what` holds instead.
  public init(_ what: String) { description = what }
}

/// - Throws: ``BrokenPromise`` unless `isKept`.
public func promise(_ isKept: Bool, _ what: @autoclosure () -> String) throws(BrokenPromise) {
  guard isKept else { throw BrokenPromise(what()) }
}

extension [UInt8] {
  /// The first byte, which selects the input's meaning, and the rest.
  public var choice: (first: UInt8, rest: [UInt8]) { (first ?? 0, Array(dropFirst())) }

  /// Lends the bytes to `body`.
  public func lent<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try span.bytes.withUnsafeBytes { (bytes) throws(Failure) in try body(bytes) }
  }
}
