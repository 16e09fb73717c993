/// What one process asked of something shared, and what it was told: the call's time, the answer's, and parts that happen at one
/// moment.
///
/// It knows nothing of stores: names and values are texts.
public struct RecordedOperation: Sendable, Equatable {
  /// One thing that an operation does.
  public enum Part: Sendable, Equatable {
    /// The name has the value from now on.
    case write(String, String)
    /// The name had the value; an empty one where there was none.
    case read(String, String)
    /// The name's number is one more than it was, which was answered; none was where the answer is nil.
    case add(String, Int?)

    /// What it is about.
    public var name: String {
      switch self {
      case .write(let name, _), .read(let name, _), .add(let name, _): name
      }
    }
  }

  /// Who asked.
  public let process: Int
  /// When, in nanoseconds of a clock that all processes share.
  public let call: UInt64
  /// When the answer came; nil where none did, and nobody knows whether the operation happens, or when.
  public let answer: UInt64?
  /// All of it, at one moment.
  public let parts: [Part]

  /// An operation of `process` between `call` and `answer`.
  public init(_ process: Int, _ call: UInt64, _ answer: UInt64?, _ parts: [Part]) {
    (self.process, self.call, self.answer, self.parts) = (process, call, answer, parts)
  }
}

/// A record that cannot be understood: the line.
public struct UnreadableRecord: Error {
  /// The line.
  public let line: String
}

extension RecordedOperation {
  /// The operations of a record, which any number of processes append to, one line an event:
  ///
  /// `TIME PROCESS call PART… .` · `TIME PROCESS ok PART… .` · `TIME PROCESS failed .`
  ///
  /// A part is `w:NAME=VALUE`, `r:NAME=VALUE` or `a:NAME=NUMBER`; in a call, what is read or answered is left out. An operation
  /// that failed did not happen. One without a second line is pending. A line without its period is one that a kill has cut: it
  /// was never written.
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
