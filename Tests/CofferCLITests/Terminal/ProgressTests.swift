import Testing

@testable import CofferCLI
@testable import CofferTerminal

struct ProgressTests {
  @Test func `a bar tells what is done, how much, and how long it takes`() {
    let display = Display(isTerminal: true)
    let line = Progress.Work.rotating.line(61_034, of: 100_000, after: 14_000_000_000, display)
    #expect(line == "Rotating ━━━━━━━━━━━━━━━━───────────  61 %  61 034 of 100 000 items   9 s left")
    let ascii = Progress.Work.importing.line(1, of: 2, after: 0, Display(isTerminal: true, isUnicode: false))
    #expect(ascii == "Importing ###############---------------  50 %  1 of 2 items")
    #expect(Progress.Work.reading.line(1, of: 1, after: 0, display).hasSuffix("100 %  1 of 1 entry"))
  }

  @Test func `the line leaves a cell free on every terminal, at any moment`() {
    for width in [20, 33, 40, 60, 80, 200] {
      for (done, total) in [(0, 1), (1, 1), (999, 1000), (61_034, 100_000), (9_999_999, 10_000_000)] {
        for work in [Progress.Work.rotating, .backingUp, .reading] {
          let line = work.line(done, of: total, after: 60_000_000_000, Display(isTerminal: true, width: width))
          #expect(Cells.count(line) < width && line.contains("%"), "\(width): \(line)")
        }
      }
    }
  }

  @Test(arguments: [(0, "0"), (999, "999"), (1204, "1 204"), (100_000, "100 000"), (1_234_567, "1 234 567")])
  func `a number is read in groups of three digits`(number: Int, text: String) { #expect(grouped(number) == text) }
}
