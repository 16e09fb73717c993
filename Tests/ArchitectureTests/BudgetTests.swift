import Foundation
import Testing

/// Checks `Budget`. `.ci/counts` prints the table, of this tree or another.
@Suite struct BudgetTests {
  private static let root = ProcessInfo.processInfo.environment["COFFER_TREE"].map { URL(filePath: $0) } ?? Package.root

  @Test func `no count is above its budget, and no folders of a target need each other`() throws {
    let counts = try Counts(of: Self.root)
    print(counts.table)
    for line in counts.lines {
      #expect(line.count > 0, "\(line.name): nothing is counted")
      #expect(line.count <= line.most, "\(line.name)")
    }
    for (target, circles) in counts.folderCircles {
      for circle in circles {
        let thin = counts.references[target]?.thin(in: circle) ?? []
        Issue.record("\(target): \(circle.joined(separator: ", "))\n\(thin.joined(separator: "\n"))")
      }
    }
    for (target, circles) in counts.fileCircles {
      for circle in circles { #expect(circle.count <= Budget.fileCircle, "\(target): \(circle.joined(separator: ", "))") }
    }
  }

  @Test func `a file refers to the files whose types and functions it names`() {
    let files = [
      SourceFile(
        path: "T/a/A.swift",
        text: "struct A { let b: B }\nfunc free() {}\nprivate struct Own {}\nprivate let one = 1\nenum E {}\n"),
      SourceFile(path: "T/b/B.swift", text: "/// A\nlet text = \"A \\\"A\"\nstruct B { enum Inner {} }\n"),
      SourceFile(path: "T/c/C.swift", text: "let quote = /\"{/\nfunc use() { free() }\nlet it = \"\\(Inner(x.A))\"\n"),
      SourceFile(
        path: "T/d/D.swift",
        text: "let it = #\"\\#(E.self)\"#\nlet all = \"\"\"\n  \"A\" \\(use())\n  \"\"\"\nlet own: Own, b: B.E\n"),
      SourceFile(path: "T/b/F.swift", text: "enum F { enum E {}; let e: E }\nextension B { func c() { use() } }\n"),
    ]
    let references = References(files)
    #expect(references.files["T/a/A.swift"] == ["T/b/B.swift"])
    #expect(references.files["T/b/B.swift"] == [])
    #expect(references.files["T/c/C.swift"] == ["T/a/A.swift"])
    #expect(references.files["T/d/D.swift"] == ["T/a/A.swift", "T/b/B.swift", "T/c/C.swift"])
    #expect(references.files["T/b/F.swift"] == ["T/b/B.swift", "T/c/C.swift"])
    #expect(References.circles(references.folders) == [["T/a", "T/b", "T/c"]])
    #expect(References.circles(references.files) == [])
  }
}
