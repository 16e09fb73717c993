import Foundation
import Testing

@testable import CofferPostgres

@Suite struct SharedVaultPageTests {
  @Test func `the page about shared vaults has what lets readers and writers in`() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized
    let page = try String(
      contentsOf: root.appending(path: "Sources/Coffer/Coffer.docc/SharedVault.md"), encoding: .utf8)
    let grants = PostgresSchema.grants("coffer_main", readers: "readers", writers: "writers")
    #expect(page.contains("```sql\n\(grants.joined(separator: "\n"))\n```\n"))
  }
}
