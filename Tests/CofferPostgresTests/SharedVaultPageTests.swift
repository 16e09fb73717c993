import CofferVaultRows
import Foundation
import Testing

@testable import CofferPostgres

@Suite struct SharedVaultPageTests {
  private func text(_ path: String) throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized
    return try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  @Test func `the page about shared vaults has what lets writers in`() throws {
    let page = try text("Sources/Coffer/Coffer.docc/SharedVault.md")
    let grants = PostgresSchema.grants("coffer_main", to: try ServerRole(name: "writers", access: .writer))
    #expect(page.contains("```sql\n\(grants.joined(separator: "\n"))\n```\n"))
  }

  @Test func `the page's program about settings is compiled, and run by another test`() throws {
    let page = try text("Sources/Coffer/Coffer.docc/SharedVault.md")
    let block = try #require(page.matches(of: /```swift\n([^`]*PostgresDefaults[^`]*)```/).first.map { String($0.1) })
    let lines = block.split(separator: "\n").map { "  \($0)\n" }
    #expect(try text("Tests/CofferPostgresTests/SharedSettingsExample.swift").contains(lines.joined()))
  }
}
