import CofferTestSupport
import Foundation
import Testing

extension Home {
  /// A small file system in the home's folder `disk`; skips the test if none can be mounted.
  ///
  /// - Parameter size: as tmpfs takes it.
  func smallDisk(_ size: String) throws -> SmallDisk {
    let disk = path + "/disk"
    mkdir(disk, 0o700)
    guard mount("tmpfs", disk, "tmpfs", 0, "size=\(size),mode=0700") == 0 else {
      try Test.skip("a small file system cannot be mounted here: \(String(cString: strerror(errno)))")
    }
    return SmallDisk(disk, of: self)
  }

  final class SmallDisk {
    let path: String
    /// Its folder can be removed once it is unmounted.
    private let home: Home
    private var filler: String { path + "/filler" }

    fileprivate init(_ path: String, of home: Home) { (self.path, self.home) = (path, home) }

    deinit { umount2(path, Int32(MNT_DETACH)) }

    func fill() {
      let file = open(filler, O_WRONLY | O_CREAT | O_APPEND, 0o600)
      defer { close(file) }
      let block = [UInt8](repeating: 7, count: 4096)
      while write(file, block, block.count) > 0 {}
    }

    func empty() { unlink(filler) }
  }
}
