import CofferTestSupport
import Testing

/// The models in Python of the plain store's journal: `journal.py`, in which it is replaced, and `fold.py`, in which it is folded
/// while others write on.
@Suite(.tags(.campaign, .process), .wholeRun) struct JournalModelTests {
  enum Model: String, CaseIterable {
    case journal, fold

    var rules: Int { self == .journal ? 22 : 27 }
    /// A world, a rule that it needs, and what breaks without it.
    var loss: (world: String, rule: String, text: String) {
      switch self {
      case .journal: ("copy", "once", ".moved was thrown twice for one replacement")
      case .fold: ("deaths", "tail", "(2, 0) is there, and (2, 3) was acknowledged")
      }
    }

    func run(_ words: [String]) throws -> (status: Int32, text: String) { try PythonModel.run(rawValue, words) }
  }

  @Test(arguments: Model.allCases) func `the rules hold in every order of steps, and each is needed`(_ model: Model) throws {
    // The default run of the folds is long enough.
    let words = Campaign.isLong ? (model == .journal ? ["--whole"] : []) : ["--short"]
    let (status, text) = try model.run(words)
    print(text)
    #expect(status == 0, "\(text)")
    #expect(text.contains("no property is broken"))
    #expect(text.matches(of: /without [a-z-]+: (?!not refused)/).count >= model.rules)
  }

  @Test(arguments: Model.allCases) func `the shortest way to a loss is printed`(_ model: Model) throws {
    let (status, text) = try model.run([model.loss.world, model.loss.rule])
    #expect(status == 1)
    #expect(text.split(separator: "\n").last?.hasSuffix(model.loss.text) == true)
  }
}
