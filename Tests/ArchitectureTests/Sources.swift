import Foundation

enum Package {
  static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  static let sources = root.appending(path: "Sources")

  static func entries(of folder: URL) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path()).sorted()
  }

  static func files(of target: String) throws -> [SourceFile] {
    try ofSources.get().filter { $0.path.hasPrefix(target + "/") }
  }

  static func tests() throws -> [SourceFile] { try ofTests.get() }

  // Shared by all tests, so each file is read once.
  private static let ofSources = Result { try files(under: sources) }
  private static let ofTests = Result { try files(under: root.appending(path: "Tests")) }

  private static func files(under folder: URL) throws -> [SourceFile] {
    try FileManager.default.subpathsOfDirectory(atPath: folder.path()).sorted()
      .filter { $0.hasSuffix(".swift") }
      .map { SourceFile(path: $0, text: try String(contentsOf: folder.appending(path: $0), encoding: .utf8)) }
  }
}

struct SourceFile {
  let path: String
  let text: String
  /// Lines with their numbers, without comments and the contents of one-line string literals.
  let code: [(number: Int, line: String)]

  init(path: String, text: String) {
    self.path = path
    self.text = text
    code = text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().map { index, line in
      (index + 1, Self.withoutLiteralsAndComments(String(line)))
    }
  }

  var imports: [(number: Int, module: String)] {
    code.compactMap { number, line in
      let words = line.split(whereSeparator: \.isWhitespace).map(String.init)
      guard let at = words.firstIndex(of: "import"), words[..<at].allSatisfy(Self.isImportModifier), at + 1 < words.count
      else { return nil }
      // `import struct Foundation.Date` names its kind first.
      let kinds = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias", "actor"]
      let module = kinds.contains(words[at + 1]) ? words.dropFirst(at + 2).first : words[at + 1]
      return module.map { (number, String($0.prefix { $0 != "." })) }
    }
  }

  private static func isImportModifier(_ word: String) -> Bool {
    word.hasPrefix("@") || ["public", "package", "internal", "fileprivate", "private"].contains(word)
  }

  static func withoutLiteralsAndComments(_ line: String) -> String {
    // Most lines have neither, and are not scanned.
    guard line.utf8.contains(where: { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "/") }) else { return line }
    // By bytes: none of these signs is part of another one.
    var code: [UInt8] = []
    var inLiteral = false
    var rest = line.utf8[...]
    while let byte = rest.popFirst() {
      if inLiteral {
        if byte == UInt8(ascii: "\\") { _ = rest.popFirst() }
        guard byte == UInt8(ascii: "\"") else { continue }
        inLiteral = false
        code.append(byte)
      } else if byte == UInt8(ascii: "\"") {
        inLiteral = true
        code.append(byte)
      } else if byte == UInt8(ascii: "/"), rest.first == UInt8(ascii: "/") {
        break
      } else {
        code.append(byte)
      }
    }
    return String(decoding: code, as: UTF8.self)
  }
}
