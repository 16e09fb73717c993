import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .wholeRun)
struct ManualPageTests {
  @Test
  func `there is a page for each command behind coffer and for each topic, in ASCII`() throws {
    let pages = try ManualPage.all()
    let names = Set(pages.map(\.fileName))
    #expect(names.count == pages.count)
    for name in ["coffer.1", "coffer-vault.1", "coffer-run.1", "coffer-agent.1", "coffer-unlocking.7", "coffer-exit-codes.7"] {
      #expect(names.contains(name), "\(name)")
    }
    for page in pages { #expect(page.text.utf8.allSatisfy { $0 < 0x80 }, "\(page.name)") }
    let set = try #require(pages.first { $0.name == "coffer-set" }).text
    #expect(set.contains("coffer set") && set.contains(#"\fB\-\-if\-revision\fR"#))
    #expect(try Home().coffer("help --man set").out == set)
  }

  @Test(arguments: [["mandoc", "-Tlint", "-Wwarning"], ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z"]])
  func `formatters of manual pages have nothing to say against them`(formatter: [String]) throws {
    let home = try Home()
    guard let program = ["/usr/bin/", "/bin/"].map({ $0 + formatter[0] }).first(where: { access($0, X_OK) == 0 }) else {
      try Test.skip(without: formatter[0])
    }
    for page in try ManualPage.all() {
      let file = try home.file(page.fileName, page.text, mode: 0o644)
      let words = ([program] + formatter.dropFirst() + [file]).map { "'\($0)'" }.joined(separator: " ")
      let said = try home.shell("LC_ALL=C.UTF-8 \(words) 2>&1 \(formatter[0] == "man" ? ">/dev/null" : "")")
      #expect(said.isEmpty, "\(page.fileName): \(said)")
    }
  }
}
