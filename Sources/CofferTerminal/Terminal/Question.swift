internal import CofferPlatform
internal import CofferVault

/// What a person is asked for, and why.
package struct Question {
  /// What the answer is: `Passphrase of ~/vault.sqlite`.
  package let subject: String
  /// Who asks and what for, in a sentence; nil where the person started the command that asks.
  package var reason: String?
  /// What was wrong with the answer before, in a sentence.
  package var remark: String?

  /// How often a person may answer before the command gives up.
  package static let tries = 3

  package init(_ subject: String, reason: String? = nil) {
    self.subject = Printable.line(subject)
    self.reason = reason.map { Printable.line($0) }
  }

  /// Lends the question to `body`, which asks it and uses the answer, and again after a wrong answer.
  ///
  /// - Parameter wrong: what was wrong with the answer where `body` threw an error; nil where another answer would not help.
  package func asked<Result: ~Copyable>(
    wrong: (any Error) -> String?, _ body: (Question) throws -> Result
  ) throws -> Result {
    try Echo.staysOff { try tried(wrong, body) }
  }

  private func tried<Result: ~Copyable>(
    _ wrong: (any Error) -> String?, _ body: (Question) throws -> Result
  ) throws -> Result {
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

  /// The same question after an answer that was `wrong`, with what is left of the tries.
  package func again(_ wrong: String, left: Int) -> Question {
    var question = self
    question.remark = "\(wrong) Try again (\(left) left)."
    return question
  }
}

extension Failure {
  /// Somebody pressed Enter, and nothing else.
  static let nothingTyped = Failure(.usage, kind: "nothingTyped", "nothing was typed", cure: "the command again")
  /// Somebody pressed control-D: no answer will come.
  static let inputEnded = Failure(.usage, kind: "inputEnded", "nothing was typed", cure: "the command again")

  /// Whether the question may be asked again.
  var isNothingTyped: Bool { kind == Self.nothingTyped.kind }
}

extension VaultPlace {
  /// The place as a person knows it: the home folder is `~`.
  package var short: String {
    guard let home = ProcessEnvironment.value("HOME"), home.count > 1, description.hasPrefix(home + "/") else {
      return description
    }
    return "~" + description.dropFirst(home.count)
  }
}
