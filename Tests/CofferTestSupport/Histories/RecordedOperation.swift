/// One process's operation on shared data, and its answer: the times of call and answer, and parts that happen at one
/// moment.
///
/// It knows nothing of stores: names and values are texts.
public struct RecordedOperation: Sendable, Equatable {
  /// One effect of an operation.
  public enum Part: Sendable, Equatable {
    /// The name has the value from now on.
    case write(String, String)
    /// The name had the value; an empty one if there was none.
    case read(String, String)
    /// Adds one to the name's number, and answers the result; nil without an answer.
    case add(String, Int?)

    /// The name in question.
    public var name: String {
      switch self {
      case .write(let name, _), .read(let name, _), .add(let name, _): name
      }
    }
  }

  /// The caller.
  public let process: Int
  /// The time of the call, in nanoseconds of a clock that all processes share.
  public let call: UInt64
  /// The time of the answer; nil without one, when nobody knows whether the operation happens, or when.
  public let answer: UInt64?
  /// Its effects, at one moment.
  public let parts: [Part]

  /// An operation of `process` between `call` and `answer`.
  public init(_ process: Int, _ call: UInt64, _ answer: UInt64?, _ parts: [Part]) {
    (self.process, self.call, self.answer, self.parts) = (process, call, answer, parts)
  }
}

/// An unreadable line of a record.
public struct UnreadableRecord: Error {
  /// The line.
  public let line: String
}

extension RecordedOperation {
  /// The operations of a record, to which any number of processes append, one line an event:
  ///
  /// `TIME PROCESS call PART… .` · `TIME PROCESS ok PART… .` · `TIME PROCESS failed .`
  ///
  /// A part is `w:NAME=VALUE`, `r:NAME=VALUE` or `a:NAME=NUMBER`; a call omits values read or answered. A failed operation
  /// did not happen. One without a second line is pending. A line without its period was cut by a kill: it was never
  /// written.
  ///
  /// - Throws: ``UnreadableRecord``.
  public static func operations(in record: String) throws -> [RecordedOperation] {
    var open: [Int: (time: UInt64, parts: [Part])] = [:], found: [RecordedOperation] = []
    for line in record.split(separator: "\n") where line.hasSuffix(" .") {
      let words = line.dropLast(2).split(separator: " ").map(String.init)
      guard words.count >= 3, let time = UInt64(words[0]), let process = Int(words[1]) else {
        throw UnreadableRecord(line: String(line))
      }
      let parts = try words[3...].map(part)
      switch words[2] {
      case "call": open[process] = (time, parts)
      case "ok":
        guard let call = open.removeValue(forKey: process) else { throw UnreadableRecord(line: String(line)) }
        found.append(RecordedOperation(process, call.time, time, parts))
      case "failed": open[process] = nil
      default: throw UnreadableRecord(line: String(line))
      }
    }
    found += open.map { process, call in RecordedOperation(process, call.time, nil, call.parts) }
    return found.sorted { $0.call < $1.call }
  }

  private static func part(_ word: String) throws -> Part {
    let halves = word.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    switch (word.prefix(2), halves.count) {
    case ("w:", 2): return .write(halves[0], halves[1])
    case ("r:", 2): return .read(halves[0], halves[1])
    case ("a:", 2): return .add(halves[0], Int(halves[1]))
    default: throw UnreadableRecord(line: word)
    }
  }
}
