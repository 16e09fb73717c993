import Foundation
import Testing

enum CommandLineArticle {
  static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// The first page and the pages that it links to, in order: later answers depend on earlier commands.
  static func text() throws -> String {
    let first = try page("CommandLine")
    let others = first.matches(of: /(?m)^\| <doc:(CommandLine\w+)> \|/).map { String($0.1) }
    try #require(others.count >= 6)
    return try ([first] + others.map(page)).joined(separator: "\n")
  }

  static func lines() throws -> [String] {
    try text().split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  /// The lines below each heading `heading`, up to the next heading of its level.
  static func sections(_ heading: String) throws -> [String] {
    var (found, isInside) = ([String](), false)
    for line in try lines() {
      if line.hasPrefix("## ") || line.hasPrefix("# ") {
        isInside = line == "## \(heading)"
      } else if isInside {
        found.append(line)
      }
    }
    return found
  }

  static func table(_ heading: String) throws -> [[String]] {
    var (rows, isHead) = ([[String]](), true)
    for line in try sections(heading) {
      guard line.hasPrefix("|") else {
        isHead = true
        continue
      }
      if !isHead, !line.hasPrefix("|--"), !line.hasPrefix("| --") {
        rows.append(line.dropFirst(2).dropLast(2).components(separatedBy: " | ").map { $0.replacing("`", with: "") })
      }
      isHead = false
    }
    return rows
  }

  private static func page(_ name: String) throws -> String {
    try String(contentsOf: root.appending(path: "Sources/Coffer/Coffer.docc/\(name).md"), encoding: .utf8)
  }
}
