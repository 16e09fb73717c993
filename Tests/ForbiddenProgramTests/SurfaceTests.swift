import CofferTestSupport
import Foundation
import Testing

/// The names visible to a program that imports one product, checked by the compiler.
@Suite(.serialized, .tags(.process), .defaultRun)
struct SurfaceTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()
  /// The first changes the look-up of extensions' members. Users of Coffer may build either way.
  private static let flags = [["-enable-upcoming-feature", "MemberImportVisibility"], []]

  private static func declared() throws -> (types: Set<String>, others: Set<String>) {
    let folder = root.appending(path: "Sources")
    let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path()).filter { $0.hasSuffix(".swift") }
    let declaration = /(?m)^(?:@\w+(?:\([^)]*\))? )*(?:public|open) (?:(?:final|indirect|nonisolated) )*(\w+) (\S+?)\b/
    var types: Set<String> = [], others: Set<String> = []
    for file in files {
      let text = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
      for match in text.matches(of: declaration) where !["import", "extension"].contains(match.1) {
        if ["struct", "class", "enum", "protocol", "actor", "typealias"].contains(match.1) {
          types.insert(String(match.2))
        } else {
          others.insert("\(match.1) \(match.2)")
        }
      }
    }
    return (types, others)
  }

  private static func visible(_ probes: [(module: String, names: [String])]) throws -> [Set<String>] {
    let programs = probes.enumerated().map { number, probe in
      let lines = probe.names.enumerated().map { "typealias Probe\(number)x\($0) = \($1)" }
      return (["import \(probe.module)"] + lines).joined(separator: "\n")
    }
    // Most of them are unknown, as they should be: guesses at their meaning would take ten times as long.
    let stage = ["-typecheck", "-Xfrontend", "-typo-correction-limit", "-Xfrontend", "0"]
    return try zip(probes, Compiler.verdicts(on: programs, with: stage)).map { probe, verdict in
      let unseen = try verdict.errors.map {
        String(try #require($0.firstMatch(of: /cannot find type '(\w+)' in scope/)?.1, "\($0)"))
      }
      return Set(probe.names).subtracting(unseen)
    }
  }

  @Test func `one import of Coffer shows what an application uses, and nothing else`() throws {
    let (types, others) = try Self.declared()
    #expect(others == [], "a name at the top level that is no type")
    #expect(types.isSuperset(of: ["AgentServer", "PersistedValue", "MockStore", "Store", "StorageRouter"]))
    let foreign = Dictionary(grouping: VisibleNames.ofOthers.keys) { VisibleNames.ofOthers[$0, default: ""] }.map { ($0, $1) }
    let candidates = types.union(VisibleNames.ofCoffer).union(VisibleNames.ofOthers.keys).sorted()
    let visible = try Self.visible([("Coffer", candidates)] + foreign)
    // That other libraries' names are hidden proves something only if the names exist.
    for ((module, names), seen) in zip(foreign, visible.dropFirst()) { #expect(seen == Set(names), "\(module)") }
    print("names that `import Coffer` shows: \(visible[0].count) of \(types.count)")
    for name in visible[0].symmetricDifference(VisibleNames.ofCoffer).sorted() {
      Issue.record("\(name): \(visible[0].contains(name) ? "is shown and not" : "is not shown, but") in VisibleNames")
    }
    #expect(VisibleNames.ofCoffer.count <= VisibleNames.most)
  }

  @Test func `the example program needs one import of Coffer`() throws {
    let text = try String(contentsOf: Self.root.appending(path: "Sources/CofferExample/Example.swift"), encoding: .utf8)
    #expect(text.matches(of: /import (Coffer\w*)/).map(\.1) == ["Coffer"])
    for flags in Self.flags {
      let verdicts = try Compiler.verdicts(on: [text], with: ["-typecheck"] + flags)
      #expect(verdicts.flatMap(\.errors) == [])
    }
  }

  @Test func `each product can be used with one import`() throws {
    let manifest = try String(contentsOf: Self.root.appending(path: "Package.swift"), encoding: .utf8)
    let products = Set(manifest.matches(of: /\.library\(name: "(\w+)"/).map { String($0.1) })
    // Without their traits these are empty: the package Tests/ConfiguredService uses them.
    #expect(products == Set(Consumer.all.map(\.product)).union(["CofferConfiguration", "CofferServices"]))
    for flags in Self.flags {
      let verdicts = try Compiler.verdicts(on: Consumer.all.map(\.text), with: ["-emit-sil", "-o", "/dev/null"] + flags)
      for (consumer, verdict) in zip(Consumer.all, verdicts) { #expect(verdict.errors == [], "\(consumer.product)") }
    }
  }
}
