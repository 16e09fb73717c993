import CofferStorage
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferDefaults

@Suite struct OverlayTests {
  @Test func `one who reads alone sees what is written after the first copy-up with the next read`() throws {
    guard geteuid() == 0 else { try Test.skip("only root can mount an overlay") }
    let folder = try TemporaryFolder()
    let layers = folder.file("layers"), merged = folder.file("merged").string
    let manager = FileManager.default
    for path in [layers.string, merged] { try manager.createDirectory(atPath: path, withIntermediateDirectories: true) }
    // The layers need a separate file system if the folder itself is on an overlay.
    guard mount("tmpfs", layers.string, "tmpfs", 0, nil) == 0 else { try Test.skip("nothing can be mounted here") }
    defer { umount2(layers.string, 0) }
    for name in ["lower", "upper", "work"] {
      try manager.createDirectory(atPath: layers.appending(name).string, withIntermediateDirectories: true)
    }
    let seed = try store(layers.appending("lower"), .readWrite)
    try seed.save(.integer(1), for: "k")
    try seed.synchronize()
    try seed.save(.integer(2), for: "k")
    let options = "lowerdir=\(layers)/lower,upperdir=\(layers)/upper,workdir=\(layers)/work"
    guard mount("overlay", merged, "overlay", 0, options) == 0 else { try Test.skip("no overlay can be mounted here") }
    defer { umount2(merged, Int32(MNT_DETACH)) }

    let reader = try store(FilePath(merged), .readOnly)
    #expect(try reader.load("k") == .integer(2))
    let writer = try store(FilePath(merged), .readWrite)
    for number in 3..<20 {
      try writer.save(.integer(Int64(number)), for: "k")
      #expect(try reader.load("k") == .integer(Int64(number)))
      if number == 10 { try writer.synchronize() }
    }
  }

  private func store(_ folder: FilePath, _ access: DefaultsAccess) throws -> DefaultsStore {
    var options = EngineOptions(access: access)
    options.isShared = false
    options.foldsWhenIdle = false
    return try DefaultsStore.open(domain: "d", in: folder, options: options)
  }
}
