import Foundation

struct Counts {
  let lines: [(name: String, count: Int, most: Int)]
  let references: [String: References]
  let folderCircles: [String: [[String]]]
  let fileCircles: [String: [[String]]]

  /// - Parameter root: a Coffer tree; the package itself, or another one for comparison.
  init(of root: URL) throws {
    let sources = try Self.texts(below: root.appending(path: "Sources"), suffixes: [".swift", ".c", ".h"])
    let tests = try Self.texts(below: root.appending(path: "Tests"), suffixes: [".swift", ".c", ".h"])
    let swift = sources.filter { $0.path.hasSuffix(".swift") }
    let comments = swift.map { Self.comments($0.text) }, testComments = tests.map { Self.comments($0.text) }
    let targets = Dictionary(grouping: sources) { Self.target(of: $0.path) }
    let sizes = targets.mapValues { $0.reduce(0) { $0 + Self.lineCount($1.text) } }
    let largest = sizes.max { ($0.value, $1.key) < ($1.value, $0.key) }
    let pages = try Self.texts(below: root, suffixes: [".md"])
    let core = sources.filter { file in Budget.trustedCore.contains { file.path.contains($0) } }

    references = targets.mapValues {
      References($0.filter { $0.path.hasSuffix(".swift") }.map { SourceFile(path: $0.path, text: $0.text) })
    }
    folderCircles = references.mapValues { References.circles($0.folders) }
    fileCircles = references.mapValues { References.circles($0.files) }

    lines = [
      ("lines of Sources", sources.reduce(0) { $0 + Self.lineCount($1.text) }, Budget.sourceLines),
      ("  of them code", sources.reduce(0) { $0 + Self.codeCount($1.text) }, Budget.codeLines),
      ("lines of Tests", tests.reduce(0) { $0 + Self.lineCount($1.text) }, Budget.testLines),
      ("lines of the largest target, \(largest?.key ?? "none")", largest?.value ?? 0, Budget.largestTarget),
      ("lines of the trusted core", core.reduce(0) { $0 + Self.lineCount($1.text) }, Budget.trustedCoreLines),
      (
        "members that the vault's engine can see",
        Self.visibleMembers(swift.filter { Self.target(of: $0.path) == "CofferVault" })
          + Self.visibleMembers(
            swift.filter { ["CofferVaultFormat", "CofferVaultRows"].contains(Self.target(of: $0.path)) }, fromOutside: true),
        Budget.engineMembers
      ),
      ("requirements of Store", Self.requirements("Store<", swift), Budget.storeRequirements),
      ("  of DecidingStore besides", Self.requirements("DecidingStore", swift), Budget.decidingStoreRequirements),
      ("  of LayeredStore besides", Self.requirements("LayeredStore", swift), Budget.layeredStoreRequirements),
      ("files", try Self.paths(below: root).count, Budget.trackedFiles),
      ("words of comments", (comments + testComments).reduce(0) { $0 + $1.words }, Budget.commentWords),
      ("clauses with what, who or whoever in Sources", comments.reduce(0) { $0 + $1.clauses }, Budget.clauses),
      ("lines of Swift in Sources over 130 columns", swift.reduce(0) { $0 + Self.longLines($1.text) }, Budget.linesOver130),
      ("words of Markdown", pages.reduce(0) { $0 + $1.text.split(whereSeparator: \.isWhitespace).count }, Budget.markdownWords),
    ]
  }

  var table: String {
    func row(_ name: String, _ count: Int, _ most: Int) -> String {
      let figures = [count, most].map { String(repeating: " ", count: max(0, 9 - String($0).count)) + String($0) }
      return name + String(repeating: " ", count: max(1, 60 - name.count)) + figures.joined()
    }
    let circles = { (circles: [String: [[String]]], what: String, most: Int) in
      circles.filter { !$0.value.isEmpty }.sorted { $0.key < $1.key }.map {
        let sizes = $0.value.map { String($0.count) }.joined(separator: ", ")
        return row("\(what) of \($0.key) in circles of \(sizes)", $0.value[0].count, most)
      }
    }
    return
      (["count" + String(repeating: " ", count: 58) + "here     most"] + lines.map { row($0.name, $0.count, $0.most) }
      + circles(folderCircles, "folders", 1) + circles(fileCircles, "files", Budget.fileCircle)).joined(separator: "\n")
  }

  /// `System/CofferMemory/A.swift` and `CofferMemory/A.swift` belong to the target CofferMemory.
  static func target(of path: String) -> String {
    let parts = path.split(separator: "/")
    return String(parts.first { $0.hasPrefix("Coffer") || $0.hasPrefix("CCoffer") } ?? parts[0])
  }

  private static func lineCount(_ text: String) -> Int { text.utf8.count { $0 == UInt8(ascii: "\n") } }

  private static func codeCount(_ text: String) -> Int {
    text.utf8.split(separator: UInt8(ascii: "\n")).count { line in
      let code = line.drop { $0 == UInt8(ascii: " ") }
      return !code.isEmpty && !code.starts(with: [UInt8(ascii: "/"), UInt8(ascii: "/")])
    }
  }

  private static func longLines(_ text: String) -> Int {
    text.utf8.split(separator: UInt8(ascii: "\n")).count { $0.count > 130 && String(decoding: $0, as: UTF8.self).count > 130 }
  }

  nonisolated(unsafe) private static let clause =
    /\b(?:[Ww]hat|[Ww]hoever|[Ww]hatever|[Ww]ho) (?:is|was|are|were|has|have|had|it|they|a|the|an|this|somebody|someone|one|no|nobody|others?|asks?|reads?|opens?|writes?|comes?|waits?|stands?|dies|died|knows?)\b/

  private static func comments(_ text: String) -> (words: Int, clauses: Int) {
    var words = 0, clauses = 0
    for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
      let comment = line.drop { $0 == UInt8(ascii: " ") }
      guard comment.starts(with: [UInt8(ascii: "/"), UInt8(ascii: "/")]) else { continue }
      words += comment.split(separator: UInt8(ascii: " ")).count
      let sentence = String(decoding: comment, as: UTF8.self)
      if sentence.contains("hat ") || sentence.contains("ho") { clauses += sentence.matches(of: clause).count }
    }
    return (words, clauses)
  }

  /// Non-private declarations of types and of the top level, or those visible to other targets.
  private static func visibleMembers(_ files: [(path: String, text: String)], fromOutside: Bool = false) -> Int {
    let declaration =
      /^ {0,2}(?:@\w+(?:\([^)]*\))? )*(?:(?:public|package|internal|static|final|mutating|nonisolated|consuming|borrowing|lazy|override|convenience) )*(?:private\(set\) )?(?:func|var|let|init|subscript)\b/
    return files.reduce(0) { sum, file in
      sum
        + SourceFile(path: file.path, text: file.text).code.count {
          $0.line.utf8.count > 6 && (!fromOutside || $0.line.contains("package ") || $0.line.contains("public "))
            && $0.line.prefixMatch(of: declaration) != nil
        }
    }
  }

  /// The functions and properties that a protocol of `CofferStorage` asks of a store.
  private static func requirements(_ name: String, _ files: [(path: String, text: String)]) -> Int {
    for file in files where target(of: file.path) == "CofferStorage" {
      guard let start = file.text.range(of: "public protocol \(name)"),
        let end = file.text[start.upperBound...].range(of: "\n}")
      else { continue }
      let requirement = /(?m)^  (?:static )?(?:mutating )?(?:func|var|init|subscript)\b/
      return file.text[start.upperBound..<end.lowerBound].matches(of: requirement).count
    }
    return 0
  }

  private static func texts(below folder: URL, suffixes: [String]) throws -> [(path: String, text: String)] {
    try paths(below: folder).filter { path in suffixes.contains { path.hasSuffix($0) } }
      .map { ($0, try String(contentsOf: folder.appending(path: $0), encoding: .utf8)) }
  }

  private static func paths(below folder: URL) throws -> [String] {
    var paths: [String] = []
    for entry in try Package.entries(of: folder) where entry != ".git" && !entry.hasPrefix(".build") {
      let path = folder.appending(path: entry)
      if try path.resourceValues(forKeys: [.isDirectoryKey]).isDirectory == true {
        paths += try Self.paths(below: path).map { "\(entry)/\($0)" }
      } else {
        paths.append(entry)
      }
    }
    return paths
  }
}
