/// Overrides on a command line: `-key value` and `-key=value`.
///
/// A value that begins with a hyphen must be a negative number. A word that begins with two hyphens is an option of the
/// program, and a `-key` before another option is no override. `--` ends the overrides. Of a repeated key, the last value
/// counts.
package struct LaunchArguments {
  let texts: [String: String]
  /// A bit for each length of an overridden name, modulo 64: rules out most other names.
  private let lengths: UInt64

  init(_ arguments: [String]) {
    texts = Self.overrides(in: arguments)
    lengths = texts.keys.reduce(0) { $0 | Self.bit(of: $1) }
  }

  @inline(__always)
  var names: [String] { Array(texts.keys) }

  subscript(_ name: String) -> String? { lengths & Self.bit(of: name) == 0 ? nil : texts[name] }

  private static func bit(of name: String) -> UInt64 { 1 << UInt64(name.utf8.count & 63) }

  static func overrides(in arguments: [String]) -> [String: String] {
    var overrides: [String: String] = [:]
    for word in words(in: arguments) { overrides[word.name] = word.text }
    return overrides
  }

  /// Leaves the other words in place.
  package static func take(from arguments: inout [String], where isKey: (String) -> Bool) -> [String] {
    let taken = words(in: arguments).filter { isKey($0.name) }
    let words = taken.flatMap { arguments[$0.place] }
    for word in taken.reversed() { arguments.removeSubrange(word.place) }
    return words
  }

  private struct Word {
    let name: String, text: String
    let place: Range<Int>
  }

  private static func words(in arguments: [String]) -> [Word] {
    var words: [Word] = []
    var rest = arguments.indices
    while let place = rest.popFirst() {
      let argument = arguments[place]
      if argument == "--" { break }
      guard let name = name(in: argument) else { continue }
      if let equals = name.firstIndex(of: "="), equals > name.startIndex {
        words.append(
          Word(name: String(name[..<equals]), text: String(name[name.index(after: equals)...]), place: place..<place + 1))
      } else if let next = rest.first, !isOption(arguments[next]), !name.hasPrefix("=") {
        words.append(Word(name: String(name), text: arguments[next], place: place..<next + 1))
        rest.removeFirst()
      }
    }
    return words
  }

  private static func name(in argument: String) -> Substring? {
    guard isOption(argument), !argument.hasPrefix("--") else { return nil }
    return argument.dropFirst()
  }

  private static func isOption(_ argument: String) -> Bool {
    argument.hasPrefix("-") && argument.count > 1 && !isNegativeNumber(argument)
  }

  private static func isNegativeNumber(_ argument: String) -> Bool {
    guard let first = argument.dropFirst().first, first.isASCII, first.isNumber || first == "." else { return false }
    return Double(argument) != nil
  }
}
