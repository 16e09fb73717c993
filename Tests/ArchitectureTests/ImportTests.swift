import Foundation
import Testing

/// SwiftPM lets a target import whatever it reaches; these are the arrows that are meant.
@Suite struct ImportTests {
  /// The system: allowed everywhere.
  static let system: Set<String> = ["FoundationEssentials", "Synchronization", "Glibc", "Musl", "Darwin", "Swift", "Dispatch"]

  static let allowed: [String: Set<String>] = [
    "CofferMemory": ["CCofferSodium", "CCofferPlatform"],
    "CofferStorage": ["CofferMemory", "CCofferPlatform", "SystemPackage"],
    "CofferDefaults": ["CofferStorage", "CofferMemory", "CCofferPlatform", "SystemPackage"],
    "CofferVault": [
      "CofferStorage", "CofferMemory", "CCofferSodium", "CCofferSQLite", "CCofferPlatform", "SystemPackage", "Logging",
    ],
    "CofferAgent": ["CofferVault", "CofferStorage", "CofferMemory", "CCofferPlatform", "SystemPackage"],
    "CofferValues": ["CofferStorage", "CofferDefaults", "SystemPackage"],
    "Coffer": [
      "CofferValues", "CofferStorage", "CofferDefaults", "CofferVault", "CofferMemory", "CofferAgent", "SystemPackage", "Logging",
    ],
    "CofferCLI": ["Coffer", "CCofferPlatform", "ArgumentParser", "Logging", "SystemPackage"],
    "CofferTesting": [
      "Coffer", "CofferValues", "CofferStorage", "CofferDefaults", "CofferVault", "CofferMemory", "SystemPackage", "Testing",
      "Foundation",
    ],
    // The one store that is Foundation's.
    "CofferFoundation": ["CofferStorage", "Foundation"],
    // What a user writes: one import.
    "CofferExample": ["Coffer", "Foundation"],
    "CofferBenchmarks": [
      "Coffer", "CofferDefaults", "CofferStorage", "CCofferSodium", "CCofferSQLite", "CCofferAllocations", "CCofferPlatform",
      "SystemPackage",
      "Foundation",
    ],
  ]

  @Test func `every target imports only what its arrows point at`() throws {
    for target in try Package.entries(of: Package.sources) where !target.hasPrefix("C") || target.hasPrefix("Coffer") {
      let allowed = try #require(Self.allowed[target], "\(target) is not in the table of allowed imports").union(Self.system)
      for file in try Package.files(of: target) {
        for (number, module) in file.imports where !allowed.contains(module) {
          Issue.record("Sources/\(file.path):\(number): \(target) may not import \(module)")
        }
      }
    }
  }

  @Test func `C libraries are wrapped in targets without Swift`() throws {
    for target in try Package.entries(of: Package.sources) where target.hasPrefix("CCoffer") {
      #expect(try Package.files(of: target).isEmpty)
    }
  }

  @Test func `the top level holds exactly what it should`() throws {
    let visible = try Package.entries(of: Package.root).filter { !$0.hasPrefix(".") && $0 != "Package.resolved" }
    let expected: Set = ["Package.swift", "Sources", "Tests", "Fixtures", "README.md"]
    #expect(Set(visible).subtracting(expected).isEmpty)
    #expect(Set(visible).isSuperset(of: ["Package.swift", "Sources", "Tests"]))
  }

  @Test func `import lines are recognised in every spelling`() {
    let text = """
      import A
      public import B
        @testable internal import C.Sub
      import struct D.E
      // import F
      let x = "import G"
      """
    #expect(SourceFile(path: "", text: text).imports.map(\.module) == ["A", "B", "C", "D"])
  }
}
