import CofferPlatform
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@Suite struct DescriptorLockTests {
  /// A descriptor of the same open file, as a child has that another thread has forked and that has not called exec yet.
  private func copy(of path: FilePath) -> Int32 {
    let opened = (0..<65_536).first { (number: Int32) in
      do { return try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)") == path.string } catch {
        return false
      }
    }
    return opened.map { fcntl($0, F_DUPFD_CLOEXEC, 0) } ?? -1
  }

  @Test func `a lock that ends is free though a child that is being started has its descriptor`() throws {
    let folder = try TestFolder("lock"), path = folder.path.appending("lock")
    let copied: Int32
    do {
      let lock = try #require(try DescriptorLock.take(path))
      copied = copy(of: path)
      #expect(copied >= 0)
      #expect(try DescriptorLock.take(path) == nil)
      withExtendedLifetime(lock) {}
    }
    defer { close(copied) }
    #expect(try DescriptorLock.take(path) != nil)
  }
}
