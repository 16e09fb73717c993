import CofferTestSupport
import Foundation
import Synchronization
import SystemPackage
import Testing

@testable import CofferPlatform

@Suite struct AtomicFileTests {
  @Test
  func `a folder that does not open refuses before the replacement, and one that cannot be made durable says that it was made`()
    throws
  {
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
    #expect(try failed?.kind == .io(EIO) && failed?.cure.contains("the change was made") == true && content() == "new")
  }

  private func folder(_ body: (FilePath) throws -> Void) throws {
    let folder = try TestFolder("atomic")
    try withExtendedLifetime(folder) { try body($0.path) }
  }

  private func entries(_ folder: FilePath) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.string).sorted()
  }

  /// System calls with unnamed files if this folder's file system has them, or as one without them.
  private func calls(unnamed: Bool) -> SystemCalls {
    var calls = SystemCalls()
    if !unnamed { calls.openUnnamed = { _, _ in -EOPNOTSUPP } }
    return calls
  }

  @Test(arguments: [true, false])
  func `content has no name before it is complete, or, where there are no such files, one that only the dead leave`(unnamed: Bool)
    throws
  {
    try folder { folder in
      let path = folder.appending(String(repeating: "n", count: 255))
      var calls = calls(unnamed: unnamed)
      if unnamed {
        let probe = calls.openUnnamed(folder.string, 0o600)
        guard probe >= 0 else { try Test.skip("no files without a name in \(folder)") }
        close(probe)
      }
      let seen = Mutex<[[String]]>([])
      let synchronize = calls.synchronize
      calls.synchronize = { [self] fd in
        seen.withLock { $0.append((try? entries(folder)) ?? []) }
        #expect(AtomicFile.abandoned(in: folder).isEmpty)
        UnfinishedFile.sweep(folder, SystemCalls())
        return synchronize(fd)
      }
      try AtomicFile(path, calls: calls).replace(with: "content".utf8Span.span.bytes, mode: 0o640)
      #expect(try String(contentsOfFile: path.string, encoding: .utf8) == "content")
      #expect(try FileStatus(at: path)?.permissions == 0o640)
      let first = try #require(seen.withLock { $0.first })
      #expect(unnamed ? first.isEmpty : first.count == 1 && first[0].hasSuffix(".coffer-unfinished"))
      #expect(try entries(folder) == [String(repeating: "n", count: 255)])
    }
  }

  @Test(arguments: [true, false])
  func `what a dead process left is found, and removed by the next that writes, unless it is another thing`(unnamed: Bool) throws
  {
    try folder { folder in
      let left = folder.appending(".1.coffer-unfinished")
      try Data("secret".utf8).write(to: URL(fileURLWithPath: left.string))
      try Data().write(to: URL(fileURLWithPath: folder.appending("kept.coffer-unfinished").string))
      #expect(mkfifo(folder.appending(".2.coffer-unfinished").string, 0o600) == 0)
      #expect(symlink("kept.coffer-unfinished", folder.appending(".3.coffer-unfinished").string) == 0)
      #expect(AtomicFile.abandoned(in: folder) == [left])
      try AtomicFile(folder.appending("file"), calls: calls(unnamed: unnamed)).replace(
        with: "new".utf8Span.span.bytes, mode: 0o600)
      #expect(AtomicFile.abandoned(in: folder).isEmpty)
      #expect(
        try entries(folder) == [".2.coffer-unfinished", ".3.coffer-unfinished", "file", "kept.coffer-unfinished"])
    }
  }

  @Test(arguments: [true, false])
  func `a new file takes no other's place, and is not there at all when it cannot be made durable`(unnamed: Bool) throws {
    try folder { folder in
      let path = folder.appending("file")
      var calls = calls(unnamed: unnamed)
      try AtomicFile(path, calls: calls).create(with: "first".utf8Span.span.bytes, mode: 0o600)
      let taken = #expect(throws: StoreError.self) {
        try AtomicFile(path, calls: calls).create(with: "second".utf8Span.span.bytes, mode: 0o600)
      }
      #expect(try taken?.kind == .alreadyExists && String(contentsOfFile: path.string, encoding: .utf8) == "first")
      #expect(symlink("nowhere", folder.appending("link").string) == 0)
      let link = #expect(throws: StoreError.self) {
        try AtomicFile(folder.appending("link"), calls: calls).create(with: "second".utf8Span.span.bytes, mode: 0o600)
      }
      #expect(link?.kind == .alreadyExists)
      let synchronize = calls.synchronize
      let made = folder.appending("made")
      calls.synchronize = { fd in
        var facts = stat()
        return fstat(fd, &facts) == 0 && facts.st_mode & S_IFMT == S_IFDIR ? -EIO : synchronize(fd)
      }
      let failed = #expect(throws: StoreError.self) {
        try AtomicFile(made, calls: calls).create(with: "second".utf8Span.span.bytes, mode: 0o600)
      }
      #expect(try failed?.kind == .io(EIO) && entries(folder) == ["file", "link"])
    }
  }

  @Test
  func `the folder of a bare name is the current one`() {
    #expect(FilePath("file").folder == "." && FilePath("a/file").folder == "a" && FilePath("/file").folder == "/")
  }
}
