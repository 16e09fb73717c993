import CofferStorage
import Foundation
import SystemPackage
import Testing

@Suite("Watching folders")
struct DirectoryWatchTests {
  /// Waits for a notice; false after a second.
  private func heard(_ notices: Record<DirectoryWatch.Notice>, _ count: Int = 1) async -> Bool {
    for _ in 0..<1000 {
      if notices.all.count >= count { return true }
      try? await Task.sleep(for: .milliseconds(1))
    }
    return false
  }

  @Test func `a file's making, change, replacement and removal are noticed, others' are not`() async throws {
    let folder = FilePath(NSTemporaryDirectory()).appending("coffer-watch-\(UInt64.random(in: 0...(.max)))")
    try FileManager.default.createDirectory(atPath: folder.string, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder.string) }
    let file = folder.appending("file").string, other = folder.appending("other").string
    let notices = Record<DirectoryWatch.Notice>()
    let watch = try DirectoryWatch.start(folder, names: ["file"]) { notices.add($0) }
    let steps: [() throws -> Void] = [
      { try Data("1".utf8).write(to: URL(filePath: file)) },
      {
        let handle = try FileHandle(forWritingTo: URL(filePath: file))
        try handle.write(contentsOf: Data("2".utf8))
        try handle.close()
      },
      { try Data("3".utf8).write(to: URL(filePath: file), options: .atomic) },
      { try FileManager.default.removeItem(atPath: file) },
    ]
    for step in steps {
      let before = notices.all.count
      try step()
      #expect(await heard(notices, before + 1))
      try await Task.sleep(for: .milliseconds(20))
    }
    let before = notices.all.count
    try Data("1".utf8).write(to: URL(filePath: other))
    try await Task.sleep(for: .milliseconds(50))
    #expect(notices.all.count == before)
    watch.cancel()
    try Data("1".utf8).write(to: URL(filePath: file))
    try await Task.sleep(for: .milliseconds(50))
    #expect(notices.all.count == before)
  }

  @Test func `the loss of the folder is told, and a folder that is not there is an error`() async throws {
    let folder = FilePath(NSTemporaryDirectory()).appending("coffer-watch-\(UInt64.random(in: 0...(.max)))")
    try FileManager.default.createDirectory(atPath: folder.string, withIntermediateDirectories: true)
    let notices = Record<DirectoryWatch.Notice>()
    let watch = try DirectoryWatch.start(folder, names: ["file"]) { notices.add($0) }
    try FileManager.default.moveItem(atPath: folder.string, toPath: folder.string + ".moved")
    #expect(await heard(notices))
    guard case .lost? = notices.all.last else {
      Issue.record("not told as lost")
      return
    }
    try FileManager.default.removeItem(atPath: folder.string + ".moved")
    do {
      _ = try DirectoryWatch.start(folder, names: []) { _ in }
      Issue.record("watches nothing")
    } catch { #expect(error.kind == .notFound) }
    watch.cancel()
  }
}
