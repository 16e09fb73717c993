extension Failure {
  /// For a person at a terminal. The program is named where another one may have started it.
  ///
  /// - Parameter command: the cure, where it is a command line by itself, which is printed behind the text.
  package func text(for display: Display, without command: String?) -> String {
    guard display.isTerminal, status != .interrupted else { return text }
    let program = Output.isTerminal ? nil : "coffer: "
    let name = key.map { (program ?? "") + Style.bold.text(Printable.line($0), display) + ": " } ?? program
    let told = name == nil ? story.asSentence : story
    let (question, rest) = meaning
    let end = told.last.map { ".?!…".contains($0) } ?? true ? "" : "."
    let asked = question.map { " " + $0.asSentence } ?? ""
    let cure = command == nil && !rest.isEmpty ? "\n  try: \(rest)" : ""
    return Style.red.text(Sign.failed.text(display), display) + " " + (name ?? "") + told + end + asked + cure
  }
}
