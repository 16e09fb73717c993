import CofferTestSupport
import Testing

/// The model in Python of sync, `sync.py`, and the program's kills, `sweep.py`.
@Suite(.tags(.campaign, .process), .wholeRun) struct SyncModelTests {
  private static let rules = 11

  private func run(_ words: String...) throws -> (status: Int32, text: String) { try PythonModel.run("sync", words) }

  @Test func `machines agree, lose no value and refuse old views in histories of random steps`() throws {
    let (status, text) = try run("histories", "\(Campaign.size(short: 3_000, long: 100_000))", Campaign.seed)
    print(text)
    #expect(status == 0, "\(text)")
    #expect(text.contains("nothing is broken"))
  }

  @Test func `machines agree, lose no value and refuse old views in histories that hypothesis chooses`() throws {
    let (status, text) = try run("machine", "\(Campaign.size(short: 200, long: 100_000))")
    if status == 77 { try Test.skip(without: "python3-hypothesis") }
    print(text)
    #expect(status == 0, "\(text)")
    #expect(text.contains("nothing is broken"))
  }

  @Test func `each rule is needed, and a small history without it that breaks is printed`() throws {
    let (status, text) = try run("rules", "5000")
    print(text)
    #expect(status == 0, "\(text)")
    #expect(text.matches(of: /without [a-z-]+: (?!nothing is broken)/).count == Self.rules)
    #expect(text.contains("without vector: an old view was taken"))
  }

  @Test func `a sync that is killed at a system call loses nothing, and the next one goes on`() throws {
    let each = Campaign.size(short: 11, long: 1)
    let (status, text) = try PythonModel.run(
      "sweep", ["take", "join", "--on", "folder", "--how", "kill", "--each", "\(each)"])
    if status == 77 { try Test.skip("the kernel lets no filter ask for system calls") }
    print(text)
    #expect(status == 0, "\(text)")
    #expect(text.contains("folder join: "))
  }
}
