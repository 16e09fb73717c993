import Foundation
import Testing

/// The size at which a type should be split: nobody sees a type in many files as a whole, and all of them see everything
/// that is not `private`.
@Suite struct TypeSizeTests {
  /// The most files of a module that declare or extend one type.
  private static let mostFiles = 6
  /// The most members of one type, including its extensions in the module. Functions of one name are one: who reads one form
  /// knows the others.
  private static let mostMembers = 65

  @Test func `no type is spread over more than six files of its module, and none has more than 65 members`() throws {
    var files: [String: Set<String>] = [:], members: [String: Set<String>] = [:]
    for target in try Package.entries(of: Package.sources) {
      for file in try Package.files(of: target) {
        for (type, named) in file.membersByType {
          files["\(target).\(type)", default: []].insert(file.path)
          members["\(target).\(type)", default: []].formUnion(named)
        }
      }
    }
    for (type, paths) in files {
      #expect(
        paths.count <= Self.mostFiles,
        "\(type) is declared and extended in \(paths.sorted().joined(separator: ", "))")
    }
    let counts = members.mapValues(\.count)
    for (type, count) in counts { #expect(count <= Self.mostMembers, "\(type) has \(count) members") }
    let (widest, largest) = (files.max { $0.value.count < $1.value.count }, counts.max { $0.value < $1.value })
    #expect(files.count > 500 && (largest?.value ?? 0) > 40, "the sources are read")
    print(
      "types: \(files.count); in the most files: \(widest?.key ?? "none"), \(widest?.value.count ?? 0);",
      "with the most members: \(largest?.key ?? "none"), \(largest?.value ?? 0)")
  }

  @Test func `members are counted by the type that has them`() {
    let text = """
      @MainActor public struct A: B {
        public private(set) var x = 1, y = "{"
        init() { let z = 1 }
        enum C { case one, two; }
        static func f() {
          if true { var q = 2 }
        }
      }
      extension A.C {
        var g: Int { 0 }
        func h() {}
        func h(_ i: Int) async {}
      }
      extension D where E == F { subscript(i: Int) -> Int { i } }
      """
    #expect(SourceFile(path: "", text: text).membersByType.mapValues(\.count) == ["A": 3, "A.C": 3, "D": 1])
  }
}

extension SourceFile {
  fileprivate var membersByType: [String: Set<String>] {
    var members: [String: Set<String>] = [:]
    var open: [(name: String, depth: Int)] = []
    var depth = 0
    var named: (kind: String, name: String)?
    let plain = SourceFile(path: path, text: Self.withoutLongLiterals(text))
    for (_, line) in plain.code {
      for part in line.split(separator: ";").flatMap(Self.atBraces) {
        let words = part.split { $0.isWhitespace || "(:<=,!?[".contains($0) }.map(String.init)
        let declared = words.drop { Self.modifiers.contains($0) || $0.hasPrefix("@") || $0.hasSuffix(")") }
        if let kind = declared.first, let name = declared.dropFirst().first, Self.types.contains(kind) { named = (kind, name) }
        if let (kind, name) = named, part.hasSuffix("{") {
          named = nil
          let outer = kind == "extension" ? nil : open.last?.name
          open.append((outer.map { "\($0).\(name)" } ?? name, depth))
          members[open[open.count - 1].name, default: []].formUnion([])
        } else if let kind = declared.first, Self.members.contains(kind.prefix { $0 != "{" && $0 != "}" }.description),
          let type = open.last, depth == type.depth + 1
        {
          let name = declared.dropFirst().first.map { "func \($0)" }
          members[type.name, default: []].insert(kind == "func" ? name ?? kind : part.trimmingCharacters(in: .whitespaces))
        }
        depth += part.count { $0 == "{" } - part.count { $0 == "}" }
        while let type = open.last, depth <= type.depth { open.removeLast() }
      }
    }
    return members
  }

  private static let types: Set = ["struct", "class", "enum", "actor", "protocol", "extension"]
  private static let members: Set = ["func", "var", "let", "init", "subscript", "case", "deinit"]
  private static let modifiers: Set = [
    "public", "package", "internal", "private", "fileprivate", "open", "final", "static", "mutating", "nonmutating",
    "nonisolated", "unowned", "weak", "lazy", "override", "required", "convenience", "consuming", "borrowing", "indirect", "set",
    "unsafe", "isolated",
  ]

  private static func atBraces(_ line: Substring) -> [Substring] {
    var parts: [Substring] = [], start = line.startIndex
    for index in line.indices where line[index] == "{" || line[index] == "}" {
      parts.append(line[start...index])
      start = line.index(after: index)
    }
    return parts + [line[start...]]
  }

  private static func withoutLongLiterals(_ text: String) -> String {
    text.components(separatedBy: "\"\"\"").enumerated().filter { $0.offset % 2 == 0 }.map(\.element).joined(separator: "\"\"")
  }
}
