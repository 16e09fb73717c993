internal import Coffer
internal import CofferTerminal

enum Menu {
  /// The lines that fit on a screen together.
  static let most = 20

  /// The index of the chosen one of `choices`: `2 items match:`, a line for each, and a question.
  ///
  /// - Throws: ``Failure/interrupted`` for control-C, ``Failure/inputEnded`` for control-D or a lost terminal, a usage
  ///   failure after three invalid answers.
  static func choose(_ what: String, _ choices: [String], _ terminal: borrowing Terminal) throws -> Int {
    let lines = choices.enumerated().map { "  \($0.offset + 1)) \(Printable.line($0.element))\n" }.joined()
    var question = "\(choices.count) \(choices.count == 1 ? "item matches" : what):\n\(lines)Which one (1 to \(choices.count))? "
    for _ in 0..<Question.tries {
      let answer = try terminal.line(question)
      if let number = Int(answer), choices.indices.contains(number - 1) { return number - 1 }
      if let found = choices.firstIndex(of: answer) { return found }
      question = "A number from 1 to \(choices.count), please: "
    }
    throw Failure.usage("none of them was chosen", try: "the command again, with the account")
  }
}
