internal import CofferPlatform

/// Overrides on a command line: `-key value` and `-key=value`.
///
/// A value that begins with a hyphen must be a negative number. A word that begins with two hyphens is an option of the
/// program. `--` ends the overrides. Of a repeated key, the last value counts.
///
/// A `-key` at the end, or before another option, has no value. It may be a flag of the program, so it is an error only when the
/// key is read.
package struct LaunchArguments {
  let texts: [String: String]
  private let valueless: Set<String>
  /// A bit for each length of a name above, modulo 64. It rules out most other names.
  private let lengths: UInt64

  init(_ arguments: [String]) {
    let words = Self.words(in: arguments)
    texts = Self.overrides(in: words)
    valueless = Set(words.filter { $0.text == nil }.map(\.name))
    lengths = words.reduce(0) { $0 | Self.bit(of: $1.name) }
  }

  var isEmpty: Bool { texts.isEmpty && valueless.isEmpty }

  @inline(__always)
  var names: [String] { Array(texts.keys) }

  subscript(_ name: String) -> String? { lengths & Self.bit(of: name) == 0 ? nil : texts[name] }

  /// - Throws: ``/CofferPlatform/StoreError/Kind/undecodable(stored:)`` if the option `name` has no value.
  func check(_ name: String) throws(StoreError) {
    if lengths & Self.bit(of: name) != 0, valueless.contains(name) { throw Self.missingValue(of: name) }
  }

  private static func missingValue(of name: String) -> StoreError {
    StoreError(
      .undecodable(stored: "argument"), "the option -\(name) has no value", key: name, place: "command line",
      cure: "write -\(name) VALUE or -\(name)=VALUE, or leave the option out")
  }

  private static func bit(of name: String) -> UInt64 { 1 << UInt64(name.utf8.count & 63) }

  private static func overrides(in words: [Word]) -> [String: String] {
    var overrides: [String: String] = [:]
    for word in words { overrides[word.name] = word.text }
    return overrides
  }

  /// Leaves the other words in place.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/undecodable(stored:)`` if a key has no value; nothing is taken then.
  package static func take(from arguments: inout [String], where isKey: (String) -> Bool) throws(StoreError) -> [String] {
    let taken = words(in: arguments).filter { isKey($0.name) }
    if let option = taken.first(where: { $0.text == nil }) { throw missingValue(of: option.name) }
    let words = taken.flatMap { arguments[$0.place] }
    for word in taken.reversed() { arguments.removeSubrange(word.place) }
    return words
  }

  private struct Word {
    let name: String
    /// Nil if the option has none.
    let text: String?
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
      } else if !name.hasPrefix("=") {
        let value = rest.first.map { arguments[$0] }.flatMap { isOption($0) ? nil : $0 }
        if value != nil { rest.removeFirst() }
        words.append(Word(name: String(name), text: value, place: place..<rest.startIndex))
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
