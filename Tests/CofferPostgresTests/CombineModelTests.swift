import CofferTestSupport
import Testing

/// The model in Python of writers that combine their commits, `combine.py`.
@Suite(.tags(.campaign, .process), .wholeRun) struct CombineModelTests {
  private static let rules = 20

  @Test func `the rules hold in every order of steps, and each is needed`() throws {
    // The long worlds take half an hour: `.ci/models --whole` runs them.
    let (status, text) = try PythonModel.run("combine", Campaign.isLong ? [] : ["--short"])
    print(text)
    #expect(status == 0, "\(text)")
    #expect(text.contains("no property is broken"))
    #expect(text.matches(of: /without [a-z-]+: (?!not refused)/).count >= Self.rules)
  }

  @Test(arguments: [
    ("cut", "look-locked", "(0, 1) was told failed, and is made"),
    ("async-lies", "history", "(2, 1) is made in another history"),
  ]) func `the shortest way to a loss is printed`(_ world: String, _ rule: String, _ loss: String) throws {
    let (status, text) = try PythonModel.run("combine", [world, rule])
    #expect(status == 1)
    #expect(text.split(separator: "\n").last?.hasSuffix(loss) == true)
  }
}
