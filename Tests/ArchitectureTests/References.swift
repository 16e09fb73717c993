/// The references between a target's files: a file refers to another if it names a top-level type or function of the other.
struct References {
  let files: [String: Set<String>]

  init(_ sources: [SourceFile]) {
    let scanned = sources.map { (path: $0.path, names: Names($0.text)) }
    var places: [String: Set<String>] = [:]
    for (path, names) in scanned { for name in names.visible { places[name, default: []].insert(path) } }
    files = Dictionary(
      uniqueKeysWithValues: scanned.map { path, names in
        // A name declared in the file, at any depth, refers to that declaration.
        (path, names.used.subtracting(names.declared).reduce(into: Set()) { $0.formUnion(places[$1] ?? []) }.subtracting([path]))
      })
  }

  var folders: [String: Set<String>] {
    var folders: [String: Set<String>] = [:]
    for (file, others) in files {
      let folder = Self.folder(of: file)
      folders[folder, default: []].formUnion(Set(others.map(Self.folder)).subtracting([folder]))
    }
    return folders
  }

  /// The references from a folder of `circle` to another one of it, the rarest first: those to fix.
  func thin(in circle: [String]) -> [String] {
    var pairs: [String: [String]] = [:]
    for (file, others) in files {
      for other in others {
        let ends = [Self.folder(of: file), Self.folder(of: other)]
        if ends[0] != ends[1], ends.allSatisfy(circle.contains) {
          pairs[ends.joined(), default: []].append("\(file) names \(other)")
        }
      }
    }
    return pairs.values.filter { $0.count <= 3 }.sorted { $0.count < $1.count }.flatMap { $0.sorted() }
  }

  static func folder(of file: String) -> String { file.split(separator: "/").dropLast().joined(separator: "/") }

  /// The circles of a graph, the largest first: sets of mutually reachable nodes (Tarjan 1972).
  static func circles(_ graph: [String: Set<String>]) -> [[String]] {
    var index: [String: Int] = [:], low: [String: Int] = [:], open: Set<String> = [], stack: [String] = [],
      circles: [[String]] = []
    func visit(_ node: String) {
      let number = index.count
      (index[node], low[node]) = (number, number)
      stack.append(node)
      open.insert(node)
      for next in graph[node, default: []].sorted() {
        if index[next] == nil { visit(next) }
        if open.contains(next) { low[node] = min(low[node, default: 0], low[next, default: 0]) }
      }
      guard low[node] == number, let start = stack.lastIndex(of: node) else { return }
      let circle = stack[start...].sorted()
      stack.removeSubrange(start...)
      open.subtract(circle)
      if circle.count > 1 { circles.append(circle) }
    }
    for node in graph.keys.sorted() where index[node] == nil { visit(node) }
    return circles.sorted { ($1.count, $0[0]) < ($0.count, $1[0]) }
  }
}

/// A file's names: read as bytes, without comments and the text of string literals.
struct Names {
  private(set) var visible: Set<String> = []
  /// All types that the file declares, and its top-level functions.
  private(set) var declared: Set<String> = []
  /// Words that may name a type or function: not members, which follow a period.
  private(set) var used: Set<String> = []

  private static let types: Set = ["struct", "class", "enum", "actor", "protocol", "typealias"]

  private var depth = 0
  private var isPrivate = false
  private var keyword = ""
  private var isImport = false

  init(_ text: String) {
    var bytes = Array(text.utf8)[...]
    read(&bytes, until: nil)
  }

  private mutating func read(_ bytes: inout ArraySlice<UInt8>, until end: UInt8?) {
    var nesting = 0, last: UInt8 = 0
    while let byte = bytes.first {
      switch byte {
      case UInt8(ascii: "/") where bytes.dropFirst().first == byte:
        bytes = bytes.drop { $0 != UInt8(ascii: "\n") }
        continue
      case UInt8(ascii: "#") where bytes.drop { $0 == UInt8(ascii: "#") }.first == UInt8(ascii: "\""), UInt8(ascii: "\""):
        literal(&bytes)
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"):
        let word = bytes.prefix(while: Self.isLetter)
        bytes = bytes.dropFirst(word.count)
        note(
          String(decoding: word, as: UTF8.self), isMember: last == UInt8(ascii: "."), isCalled: bytes.first == UInt8(ascii: "("))
        last = 0
        continue
      case UInt8(ascii: "("), UInt8(ascii: "{"):
        nesting += 1
        depth += 1
        isPrivate = false
        bytes.removeFirst()
      case UInt8(ascii: ")"), UInt8(ascii: "}"):
        if nesting == 0, byte == end { return }
        nesting -= 1
        depth -= 1
        bytes.removeFirst()
      default:
        bytes.removeFirst()
        // The formatter indents everything below the top level, so a regular expression's braces do no harm beyond it.
        if byte == UInt8(ascii: "\n"), let next = bytes.first, next == UInt8(ascii: "@") || Self.isLetter(next) {
          (depth, isPrivate, keyword, isImport) = (0, false, "", false)
        }
      }
      last = byte
    }
  }

  private mutating func note(_ word: String, isMember: Bool, isCalled: Bool) {
    if depth == 0, word == "import" { isImport = true }
    if isMember || isImport { return }
    if !keyword.isEmpty {
      let kind = keyword
      keyword = ""
      guard !Self.types.union(["func", "var"]).contains(word) else { return }
      if Self.types.contains(kind) || depth == 0 { declared.insert(word) }
      if depth == 0, !isPrivate { visible.insert(word) }
      if depth == 0 { isPrivate = false }
    } else if Self.types.contains(word) || word == "func" {
      keyword = word
    } else if word == "private" || word == "fileprivate" {
      isPrivate = depth == 0
    } else if isCalled || word.utf8.first.map({ $0 < UInt8(ascii: "a") }) == true {
      used.insert(word)
    }
  }

  private mutating func literal(_ bytes: inout ArraySlice<UInt8>) {
    let quote = UInt8(ascii: "\""), pound = UInt8(ascii: "#"), escape = UInt8(ascii: "\\")
    let pounds = bytes.prefix { $0 == pound }.count
    bytes = bytes.dropFirst(pounds)
    let quotes = bytes.starts(with: [quote, quote, quote]) ? 3 : 1
    bytes = bytes.dropFirst(quotes)
    let end = Array(repeating: quote, count: quotes) + Array(repeating: pound, count: pounds)
    let start = [escape] + Array(repeating: pound, count: pounds)
    while let byte = bytes.first {
      if byte == escape, bytes.starts(with: start) {
        bytes = bytes.dropFirst(start.count)
        if bytes.popFirst() == UInt8(ascii: "(") {
          depth += 1
          read(&bytes, until: UInt8(ascii: ")"))
          depth -= 1
          bytes = bytes.dropFirst()
        }
      } else if quotes == 1, byte == UInt8(ascii: "\n") {
        return  // A quote in a regular expression.
      } else if byte == quote, bytes.starts(with: end) {
        bytes = bytes.dropFirst(end.count)
        return
      } else {
        bytes.removeFirst()
      }
    }
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "_"):
      true
    default: false
    }
  }
}
