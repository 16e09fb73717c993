import CofferPlatform
import Foundation
import SystemPackage
import Testing

@testable import CofferStorage

@Suite struct AtomicFileTests {
  @Test(
    "a folder that cannot be opened refuses before the file is replaced, and one that cannot be made durable says that it was")
  func folder() throws {
    let folder = FilePath(NSTemporaryDirectory()).appending("atomic-\(UUID().uuidString)")
    try FileManager.default.createDirectory(atPath: folder.string, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: folder.string) }
    let path = folder.appending("file")
    try AtomicFile(path).replace(with: "old".utf8Span.span.bytes, mode: 0o600)
    func content() throws -> String { try String(contentsOfFile: path.string, encoding: .utf8) }

    var calls = SystemCalls()
    let open = calls.open
    calls.open = { path, flags, mode in path == folder.string ? -EACCES : open(path, flags, mode) }
    let refused = #expect(throws: StoreError.self) {
      try AtomicFile(path, calls: calls).replace(with: "new".utf8Span.span.bytes, mode: 0o600)
    }
    #expect(try refused?.kind == .denied && content() == "old")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.string) == ["file"])

    calls.open = open
    let synchronize = calls.synchronize
    calls.synchronize = { fd in
      var facts = stat()
      return fstat(fd, &facts) == 0 && facts.st_mode & S_IFMT == S_IFDIR ? -EIO : synchronize(fd)
    }
    let failed = #expect(throws: StoreError.self) {
      try AtomicFile(path, calls: calls).replace(with: "new".utf8Span.span.bytes, mode: 0o600)
    }
    #expect(try failed?.kind == .io(EIO) && failed?.cure.contains("the change is made") == true && content() == "new")
  }

  @Test("the folder of a bare name is the current one")
  func bareName() {
    #expect(FilePath("file").folder == "." && FilePath("a/file").folder == "a" && FilePath("/file").folder == "/")
  }
}
