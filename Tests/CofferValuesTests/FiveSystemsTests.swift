internal import Foundation
internal import Testing

/// The table of the five systems names an existing test for each row.
@Suite struct FiveSystemsTests {
  static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  static func rows() throws -> [(row: String, test: String)] {
    let article = try String(
      contentsOf: root.appending(path: ".github/FIVE-SYSTEMS.md"), encoding: .utf8)
    return article.split(separator: "\n").compactMap { line in
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      guard cells.count == 3, let match = cells[0].wholeMatch(of: /[A-F]\d+/) else { return nil }
      return (String(match.output), cells[2])
    }
  }

  @Test func `every row of the five systems is in the table`() throws {
    let expected = [("A", 18), ("B", 16), ("C", 20), ("D", 14), ("E", 7), ("F", 6)].flatMap { letter, count in
      (1...count).map { "\(letter)\($0)" }
    }
    let rows = try Self.rows().map(\.row)
    #expect(zip(rows, [""] + rows).filter { $0 != $1 }.map(\.0) == expected)
  }

  @Test func `every test that the table names is in the sources`() throws {
    let tests = Self.root.appending(path: "Tests")
    var names: Set<String> = []
    for path in try FileManager.default.subpathsOfDirectory(atPath: tests.path()) where path.hasSuffix(".swift") {
      let text = try String(contentsOf: tests.appending(path: path), encoding: .utf8)
      for match in text.matches(of: /func `([^`]+)`/) { names.insert(String(match.output.1)) }
    }
    let hasTestingProduct = FileManager.default.fileExists(atPath: tests.appending(path: "CofferTestingTests").path())
    for (row, test) in try Self.rows() {
      // The rows of the testing product and of the session are tested there: `A14: …`.
      guard hasTestingProduct || test.wholeMatch(of: /[A-D]\d+: .*/) == nil else { continue }
      let isThere = names.contains(test)
      #expect(isThere, "row \(row) names a test that is not there: \(test)")
      // A row's test has its name; the F rows summarize the others.
      if !row.hasPrefix("F") { #expect(test.hasPrefix(row + " ") || test.hasPrefix(row + ":")) }
    }
  }
}
