internal import CofferPlatform
internal import CofferVault

package struct Question {
  /// The requested answer: `Passphrase of ~/vault.sqlite`.
  package let subject: String
  /// The asking program and its purpose, in a sentence; nil if the person started the command.
  package var reason: String?
  /// The fault of the previous answer, in a sentence.
  package var remark: String?

  /// The number of answers before the command gives up.
  package static let tries = 3

  package init(_ subject: String, reason: String? = nil) {
    self.subject = Printable.line(subject)
    self.reason = reason.map { Printable.line($0) }
  }

  /// Lends the question to `body`, which asks it and uses the answer, again after a wrong answer.
  ///
  /// - Parameter wrong: the fault of the answer after an error of `body`; nil if another answer would not help.
  package func asked<Result: ~Copyable>(wrong: (any Error) -> String?, _ body: (Question) throws -> Result) throws -> Result {
    try Echo.staysOff {
      var question = self
      for left in (1..<Self.tries).reversed() {
        do { return try body(question) } catch {
          let nothing = (error as? Failure).flatMap { $0.isNothingTyped ? $0.sentence : nil }
          guard let what = nothing ?? wrong(error) else { throw error }
          question = again(what, left: left)
        }
      }
      return try body(question)
    }
  }

  /// With the number of tries left.
  package func again(_ wrong: String, left: Int) -> Question {
    var question = self
    question.remark = "\(wrong) Try again (\(left) left)."
    return question
  }
}

extension Failure {
  /// Enter alone.
  static let nothingTyped = Failure(.usage, kind: "nothingTyped", "nothing was entered", cure: "run the command again")
  /// Control-D: no answer will come.
  static let inputEnded = Failure(.usage, kind: "inputEnded", "nothing was entered", cure: "run the command again")

  var isNothingTyped: Bool { kind == Self.nothingTyped.kind }
}

extension VaultPlace {
  /// The place with the home folder as `~`.
  package var short: String {
    guard let home = ProcessEnvironment.value("HOME"), home.count > 1, description.hasPrefix(home + "/") else {
      return description
    }
    return "~" + description.dropFirst(home.count)
  }
}
