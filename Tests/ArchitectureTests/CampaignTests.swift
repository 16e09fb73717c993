import Foundation
import Testing

@Suite struct CampaignTests {
  private static func files() throws -> [SourceFile] {
    try Package.tests().filter {
      $0.text.contains("@Test") && !$0.path.hasPrefix("ArchitectureTests/") && !$0.path.hasPrefix("CofferTestSupport/")
    }
  }

  /// Files with a campaign's sizes, by a plain search before a pattern is matched with each line.
  private static func campaigns() throws -> [SourceFile] {
    // Made once: each evaluation of a literal parses it.
    let choice = /\bCampaign\.(isLong|size|cases|seed)\b/
    return try files().filter { $0.text.contains("Campaign.") && $0.code.contains { $0.line.contains(choice) } }
  }

  @Test func `what has a long form is tagged as a campaign`() throws {
    let campaigns = try Self.campaigns()
    #expect(campaigns.count > 30)
    for file in campaigns {
      #expect(file.text.contains(/\.tags\(\.campaign\b/), "Tests/\(file.path)")
    }
  }

  /// Campaigns of the default run: no other test makes their promise.
  private static let onlyOfTheirPromise: Set<String> = []

  @Test func `the tags stand beside the trait that leaves a test out of the fast run, and a campaign's out of the default one`()
    throws
  {
    var tagged = 0
    let beside = /\.tags\([.\w, ]+\), \.(default|whole)Run\b/
    for file in try Self.files() {
      for (number, line) in file.code where [".tags(", ".defaultRun", ".wholeRun"].contains(where: line.contains) {
        tagged += 1
        if line.contains(".tags(.root)") { continue }
        #expect(line.contains(beside), "Tests/\(file.path):\(number)")
        guard line.contains(".campaign"), !Self.onlyOfTheirPromise.contains(file.path) else { continue }
        #expect(line.contains(".wholeRun"), "Tests/\(file.path):\(number)")
      }
    }
    #expect(tagged > 90)
  }

  @Test func `what starts programs says so`() throws {
    let start = /\bProcess\(\)|\bposix_spawn\(|\bHome\(\)|\bHome\.withVault\(|\bTool\("|\bPeer\(|\bTracedTool\(/
    // It checks a permission of this process, and starts at most one program.
    let exempt: Set = ["CofferPlatformTests/TrustedPathTests.swift"]
    for file in try Self.files() where !exempt.contains(file.path) && file.code.contains(where: { $0.line.contains(start) }) {
      #expect(file.text.contains(/\.tags\([^)]*\.process\b/), "Tests/\(file.path)")
    }
  }

  @Test func `one file reads the variables that choose the tests`() throws {
    let names = ["COFFER_LONG_TESTS", "COFFER_TESTS"]
    for file in try Self.files() {
      for (number, line) in file.text.split(separator: "\n").enumerated() where line.contains("environment[") {
        #expect(!names.contains { line.contains("\"\($0)\"") }, "Tests/\(file.path):\(number + 1)")
      }
    }
  }

  @Test func `each test is named by a sentence of words`() throws {
    // A name in words is a statement, which a run prints as it is.
    let declaration = /@Test(?s:(?!\bfunc\b|@Test).)*?\bfunc\s+(`[^`]+`|\w+)/
    var tests = 0
    for file in try Self.files() {
      for match in file.text.matches(of: declaration) {
        tests += 1
        #expect(match.1.hasPrefix("`") && match.1.contains(" "), "Tests/\(file.path): \(match.1)")
      }
    }
    #expect(tests > 1_000)
  }
}
