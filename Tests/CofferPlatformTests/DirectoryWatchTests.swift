import CofferPlatform
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@Suite
struct DirectoryWatchTests {
  private func heard(_ notices: Collected<DirectoryWatch.Notice>, _ count: Int = 1) async throws -> Bool {
    let deadline = ContinuousClock.now + .seconds(120)
    while notices.all.count < count {
      guard ContinuousClock.now < deadline else { return false }
      try await Task.sleep(for: .milliseconds(1))
    }
    return true
  }

  /// A second watch on a folder, for a file that nobody else writes: all watches' notices come on one queue, in order.
  private struct Settling {
    let file: String
    let notices = Collected<DirectoryWatch.Notice>()
    let watch: Subscription

    init(_ folder: FilePath) throws {
      file = folder.appending("settling").string
      watch = try DirectoryWatch.start(folder, names: ["settling"]) { [notices] in notices.add($0) }
    }
  }

  private func settle(_ settling: Settling) async throws {
    // Notices read together come in no order: earlier ones have been delivered after a second round.
    for _ in 0..<2 {
      let before = settling.notices.all.count
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: settling.file)
      #expect(try await heard(settling.notices, before + 1))
    }
  }

  @Test func `a file's making, change, replacement and removal are noticed, others' are not`() async throws {
    let folder = FilePath(NSTemporaryDirectory()).appending("coffer-watch-\(UInt64.random(in: 0...(.max)))")
    try FileManager.default.createDirectory(atPath: folder.string, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder.string) }
    let file = folder.appending("file").string, other = folder.appending("other").string
    let notices = Collected<DirectoryWatch.Notice>()
    let watch = try DirectoryWatch.start(folder, names: ["file"]) { notices.add($0) }
    try Data().write(to: URL(filePath: folder.appending("settling").string))
    let settling = try Settling(folder)
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
      #expect(try await heard(notices, before + 1))
      try await settle(settling)
    }
    let before = notices.all.count
    try Data("1".utf8).write(to: URL(filePath: other))
    try await settle(settling)
    #expect(notices.all.count == before)
    watch.cancel()
    try Data("1".utf8).write(to: URL(filePath: file))
    try await settle(settling)
    #expect(notices.all.count == before)
    settling.watch.cancel()
  }

  @Test func `the loss of the folder is told, and a folder that is not there is an error`() async throws {
    let folder = FilePath(NSTemporaryDirectory()).appending("coffer-watch-\(UInt64.random(in: 0...(.max)))")
    try FileManager.default.createDirectory(atPath: folder.string, withIntermediateDirectories: true)
    let notices = Collected<DirectoryWatch.Notice>()
    let watch = try DirectoryWatch.start(folder, names: ["file"]) { notices.add($0) }
    try FileManager.default.moveItem(atPath: folder.string, toPath: folder.string + ".moved")
    #expect(try await heard(notices))
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
