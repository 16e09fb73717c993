import Foundation
import Testing

/// The package that `.ci/fuzz` builds links to the same sources, and repeats their dependencies.
@Suite struct FuzzPackageTests {
  private static func targets(_ manifest: String) throws -> [String: Set<String>] {
    let text = try String(contentsOf: Package.root.appending(path: manifest), encoding: .utf8)
    var found: [String: Set<String>] = [:]
    for match in text.matches(of: /name: "(Coffer\w*)",\s*dependencies: \[((?:[^\[\]]|\[[^\]]*\])*)\]/) {
      found[String(match.1)] = Set(match.2.matches(of: /"(C?Coffer\w*)"/).map { String($0.1) })
    }
    return found
  }

  @Test func `each target that is fuzzed depends on what it depends on in the house`() throws {
    let (house, fuzzed) = try (Self.targets("Package.swift"), Self.targets("Tests/Fuzz/Package.swift"))
    #expect(Set(fuzzed.keys).isSuperset(of: ["CofferVault", "CofferDefaults", "CofferCLI", "CofferLogin"]))
    for (target, dependencies) in fuzzed { #expect(house[target] == dependencies, "\(target) in Tests/Fuzz/Package.swift") }
    let needed = fuzzed.values.reduce(into: Set<String>()) { $0.formUnion($1) }.filter { house[$0] != nil }
    #expect(needed.isSubset(of: fuzzed.keys), "targets are missing in Tests/Fuzz/Package.swift")
  }
}
