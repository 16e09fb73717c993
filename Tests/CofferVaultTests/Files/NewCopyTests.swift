import CofferPlatform
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultRows

@Suite struct NewCopyTests {
  private let folder: TestFolder
  init() throws { folder = try TestFolder("copies") }

  private func entries() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder.path.string).sorted() }

  @Test(arguments: [0o700, 0o755, 0o770, 0o777] as [mode_t])
  func `a copy is made in a folder of any mode, and nothing else is left`(
    mode: mode_t
  ) throws {
    let place = try TemporaryVault()
    let vault = try place.create()
    try vault.set(form("kept"), for: .sample)
    chmod(folder.path.string, mode)
    _ = try LockedVault.open(place.path).backup(to: folder.path.appending("backup"))
    _ = try vault.export(to: .file(folder.path.appending("export")), with: TemporaryVault.credentials())
    #expect(try entries() == ["backup", "export"])
    #expect(kind { _ = try LockedVault.open(place.path).backup(to: folder.path.appending("backup")) } == .alreadyExists)
    chmod(folder.path.string, 0o700)
    for name in try entries() {
      let copy = try LockedVault.open(folder.path.appending(name)).unlock(with: TemporaryVault.credentials())
      #expect(text(try copy.get(.sample)) == "kept")
    }
  }

  @Test func `a draft's folder that a dead process left is removed, and no file in it that a draft does not make`() throws {
    for (name, file) in [(".a.1.coffer-draft", "coffer-draft.sqlite-wal"), (".b.1.coffer-draft", "precious")] {
      let draft = folder.path.appending(name)
      try FileManager.default.createDirectory(atPath: draft.string, withIntermediateDirectories: false)
      try Data("x".utf8).write(to: URL(fileURLWithPath: draft.appending(file).string))
    }
    let elsewhere = try TestFolder("elsewhere")
    try Data("x".utf8).write(to: URL(fileURLWithPath: elsewhere.path.appending("coffer-draft.sqlite").string))
    try FileManager.default.createSymbolicLink(
      atPath: folder.path.appending(".c.1.coffer-draft").string, withDestinationPath: elsewhere.path.string)
    Draft.sweep(folder.path)
    #expect(try entries() == [".b.1.coffer-draft"])
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder.path.appending(".b.1.coffer-draft").string) == ["precious"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: elsewhere.path.string) == ["coffer-draft.sqlite"])
  }

  @Test func `what fails about a copy is said of the file that it was to become`() throws {
    let place = try TemporaryVault()
    _ = try place.create()
    let target = folder.path.appending("missing").appending("backup")
    do {
      _ = try LockedVault.open(place.path).backup(to: target)
      Issue.record("a folder that is missing is made by nobody")
    } catch {
      #expect(error.kind == .io(ENOENT) && error.place?.hasPrefix(folder.path.appending("missing").string) == true, "\(error)")
    }
    #expect(try entries().isEmpty)
  }
}
