import Foundation
import Testing

/// SwiftPM lets a target import anything it reaches; these are the intended imports.
@Suite struct ImportTests {
  /// The language and its toolchain's libraries: allowed everywhere.
  static let toolchain: Set<String> = ["FoundationEssentials", "Synchronization", "Swift", "Dispatch", "Observation"]
  /// The system's C library, in its three spellings, which one file imports; all others import `CofferPlatform`.
  static let system: Set<String> = ["Glibc", "Musl", "Darwin"]

  static let arrows: [String: Set<String>] = [
    "CofferPlatform": ["CCofferPlatform", "SystemPackage"],
    "CofferMemory": ["CofferPlatform", "CCofferSodium"],
    "CofferObservation": [],
    "CofferStorage": ["CofferMemory", "CofferObservation", "CofferPlatform"],
    "CofferDefaults": ["CofferStorage", "CofferPlatform", "SystemPackage"],
    "CofferVaultFormat": ["CofferStorage", "CofferMemory", "CofferPlatform", "CCofferSodium"],
    "CofferVaultRows": [
      "CofferVaultFormat", "CofferStorage", "CofferPlatform", "CCofferSodium", "CCofferSQLite", "SystemPackage",
    ],
    "CofferVault": [
      "CofferVaultFormat", "CofferVaultRows", "CofferStorage", "CofferMemory", "CofferPlatform", "SystemPackage", "Logging",
    ],
    "CofferSync": [
      "CofferVault", "CofferVaultFormat", "CofferVaultRows", "CofferStorage", "CofferMemory", "CofferPlatform", "SystemPackage",
    ],
    "CofferPostgres": [
      "CofferVault", "CofferVaultFormat", "CofferVaultRows", "CofferDefaults", "CofferStorage", "CofferMemory", "CofferPlatform",
      "CCofferLibraries", "SystemPackage",
    ],
    "CofferClient": ["CCofferPlatform"],
    "CofferKeys": ["CofferMemory", "CofferPlatform", "CCofferSodium", "CCofferLibraries"],
    "CofferAgent": [
      "CofferClient", "CofferKeys", "CofferSync", "CofferVault", "CofferVaultFormat", "CofferVaultRows", "CofferStorage",
      "CofferMemory", "CofferPlatform", "SystemPackage",
    ],
    "CofferValues": ["CofferStorage", "CofferDefaults", "CofferPlatform", "SystemPackage"],
    "CofferConfiguration": ["CofferStorage", "CofferPlatform", "Configuration"],
    "CofferServices": [
      "Coffer", "CofferVault", "CofferStorage", "CofferPlatform", "Logging", "Metrics", "ServiceLifecycle", "Tracing",
    ],
    "Coffer": [
      "CofferStorage", "CofferDefaults", "CofferVault", "CofferVaultFormat", "CofferVaultRows", "CofferMemory", "CofferAgent",
      "CofferPlatform", "SystemPackage",
    ],
    "CofferSecretService": [
      "CofferAgent", "CofferVault", "CofferStorage", "CofferMemory", "CofferPlatform", "CCofferLibraries", "SystemPackage",
    ],
    "CofferSSH": ["CofferAgent", "CofferClient", "CofferMemory", "CofferPlatform", "SystemPackage"],
    "CofferLogin": [
      "Coffer", "CofferStorage", "CofferMemory", "CofferPlatform", "CCofferPlatform", "CCofferLibraries",
      "SystemPackage",
    ],
    "CofferTerminal": [
      "Coffer", "CofferMemory", "CofferPlatform", "CofferStorage", "CofferVault", "Logging", "SystemPackage",
    ],
    "CofferFormats": [
      "CofferTerminal", "Coffer", "CofferMemory", "CofferPlatform", "CofferStorage", "CofferVault", "CCofferLibraries",
    ],
    "CofferCLI": [
      "Coffer", "CofferAgent", "CofferDefaults", "CofferFormats", "CofferLogin", "CofferPostgres", "CofferSecretService",
      "CofferSSH", "CofferSync", "CofferTerminal", "CofferVault", "CofferVaultRows", "CofferStorage", "CofferMemory",
      "CofferPlatform", "CCofferLibraries", "CCofferPages", "ArgumentParser", "SystemPackage",
    ],
    "CofferTesting": [
      "Coffer", "CofferValues", "CofferStorage", "CofferDefaults", "CofferVault", "CofferMemory", "CofferPlatform",
      "SystemPackage",
      "Testing", "Foundation",
    ],
    // The only store over Foundation.
    "CofferFoundation": ["CofferStorage", "CofferPlatform", "Foundation"],
    // A user's program: one import.
    "CofferExample": ["Coffer", "Foundation"],
    "CofferBenchmarks": [
      "Coffer", "CofferDefaults", "CofferPlatform", "CofferPostgres", "CofferStorage", "CofferValues", "CofferVault",
      "CCofferLibraries", "CCofferSodium",
      "CCofferSQLite", "CCofferAllocations", "SystemPackage", "Foundation", "Logging",
    ],
  ]

  @Test func `every target imports what its arrows point at, and has no arrow that it does not use`() throws {
    let targets = try Package.entries(of: Package.sources).filter { !$0.hasPrefix("CCoffer") }
    #expect(Set(targets) == Set(Self.arrows.keys))
    for target in targets {
      let imports = try Package.files(of: target).flatMap { file in file.imports.map { (file, $0) } }
      let others = imports.filter { !Self.toolchain.union(Self.system).contains($0.1.module) }
      let expected = Self.arrows[target] ?? []
      for (file, (number, module)) in others where !expected.contains(module) {
        Issue.record("Sources/\(file.path):\(number): \(target) may not import \(module)")
      }
      #expect(expected.subtracting(others.map(\.1.module)) == [], "\(target) has an arrow that no file needs")
    }
  }

  @Test func `only the agent may import the keys that never leave it`() {
    #expect(Set(Self.arrows.filter { $0.value.contains("CofferKeys") }.keys).isSubset(of: ["CofferAgent"]))
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

  @Test func `import lines are recognized in every spelling`() {
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
