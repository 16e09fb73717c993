import CofferPlatform
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferSync

/// A branch `coffer` of git whose newest commit is none of a vault's.
@Suite(.tags(.process), .defaultRun) struct ForeignBranchTests {
  private let folder: TestFolder
  private var repository: String { folder.path.string + "/r" }

  init() throws {
    folder = try TestFolder("repository")
    try Remote.run(["git", "init", "--quiet", "--bare", repository])
  }

  private func commit() throws {
    let script = """
      cd '\(repository)' && git update-ref refs/heads/coffer \
      $(git -c user.name=x -c user.email=x@x commit-tree -m 'my work' $(git mktree </dev/null))
      """
    try Remote.run(["sh", "-ec", script])
  }

  @Test func `other files are told to a machine that has seen no head, and nothing is put`() throws {
    try commit()
    let desk = try Laptop.first("desk", repository), before = try Data(contentsOf: URL(filePath: desk.file.string))
    for isTrial in [true, false] {
      let error = try expect(.refused) { try desk.sync { $0.isTrial = isTrial } }
      #expect(error.what.contains("other files") && error.place == repository)
    }
    #expect(try Data(contentsOf: URL(filePath: desk.file.string)) == before)
    #expect(try expect(.notFound) { try Laptop.empty("lap", repository).clone() }.what.contains("other files"))
  }

  @Test func `in place of heads that were seen, they are rolled back`() throws {
    let desk = try Laptop.first("desk", repository)
    try desk.sync()
    try commit()
    #expect(try expect(.rolledBack) { try desk.sync() }.what.contains("other files"))
    try expect(.refused) { try desk.sync { $0.accepts = true } }
    #expect(try Remote.run(["git", "-C", repository, "log", "--format=%s", "coffer"]) == "my work\n")
  }
}
