/// What reads bytes that others wrote, as a fuzzer and a test call it.
public struct Parser: Sendable {
  /// The name of its folder of seeds, and of its line in a report.
  public let name: String
  /// Bytes of an input, at most: short inputs are tried more often, and no rule of the parser needs longer ones.
  public let longest: Int
  /// Words of the format, from which inputs are made too.
  public let words: [String]
  /// Files and folders of `Fixtures` that are inputs, beside the parser's own.
  public let fixtures: [String]
  /// Reads an input and checks what is promised of it: throws a ``BrokenPromise``, or what the input is refused with.
  private let read: @Sendable ([UInt8]) throws -> Void

  /// A parser, whose `read` throws what it refuses an input with.
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

  /// Whether the parser takes `input`.
  ///
  /// - Throws: ``BrokenPromise``, also for an input that is refused with an error that no input explains.
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

/// Something that is promised of every input, and does not hold for one.
public struct BrokenPromise: Error, CustomStringConvertible {
  /// Which promise it is.
  public let description: String
  /// A promise that does not hold: `what` is so instead.
  public init(_ what: String) { description = what }
}

/// - Throws: ``BrokenPromise`` unless `isKept`.
public func promise(_ isKept: Bool, _ what: @autoclosure () -> String) throws(BrokenPromise) {
  guard isKept else { throw BrokenPromise(what()) }
}

extension [UInt8] {
  /// The first byte, which says how an input is meant, and the rest.
  public var choice: (first: UInt8, rest: [UInt8]) { (first ?? 0, Array(dropFirst())) }

  /// Lends the bytes to `body`.
  public func lent<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try span.bytes.withUnsafeBytes { (bytes) throws(Failure) in try body(bytes) }
  }
}
