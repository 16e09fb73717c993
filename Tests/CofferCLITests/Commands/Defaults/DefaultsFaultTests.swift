import CofferTestSupport
import Foundation
import Testing

@Suite(.tags(.kill, .process), .defaultRun)
struct DefaultsFaultTests {
  @Test(.tags(.root), arguments: [true, false])
  func `a write whose list cannot be written says that the value is stored, and it is`(fullDisk: Bool) throws {
    let home = try Home()
    try home.transcript("defaults write d k -string old")
    let configuration = home.path + "/config"
    if fullDisk {
      try FileManager.default.removeItem(atPath: configuration)
      try FileManager.default.createDirectory(atPath: configuration, withIntermediateDirectories: false)
      guard geteuid() == 0, mount("tmpfs", configuration, "tmpfs", 0, "size=128k,mode=0700") == 0 else {
        try Test.skip("a small file system cannot be mounted here")
      }
      try home.transcript("defaults write d k -string old")
      Data(count: 1 << 20).withUnsafeBytes { zeros in
        let file = open(configuration + "/filler", O_WRONLY | O_CREAT, 0o600)
        while write(file, zeros.baseAddress, 4096) > 0 {}
        close(file)
      }
    } else {
      let copy = configuration + "/.d.plist.last-good"
      try FileManager.default.removeItem(atPath: copy)
      try FileManager.default.createDirectory(atPath: copy + "/in the way", withIntermediateDirectories: true)
    }
    defer { if fullDisk { umount2(configuration, Int32(MNT_DETACH)) } }
    let answer = try home.coffer("defaults write d k -string new")
    #expect(answer.status == 74 && answer.err.contains("every value is stored"), "\(answer.err)")
    #expect(!answer.err.contains("nothing was changed"), "\(answer.err)")
    #expect(try home.coffer("defaults read d k").out == "new\n")
  }

  @Test(arguments: [0, 8, 4_096])
  func `a journal that is cut short or overwritten is 65 for those who read and those who write`(bytes: Int) throws {
    let home = try Home()
    try home.transcript("defaults write d k -string value")
    #expect(truncate(home.path + "/config/.d.plist.coffer", bytes) == 0)
    for command in ["defaults read d k", "defaults read d", "defaults write d k -string other", "defaults delete d"] {
      let answer = try home.coffer(command)
      #expect(answer.status == 65 && answer.err.contains("the journal has \(bytes) bytes"), "\(command): \(answer.err)")
    }
    #expect(try FileManager.default.attributesOfItem(atPath: home.path + "/config/.d.plist.coffer")[.size] as? Int == bytes)
  }
}
