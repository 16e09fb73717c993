import CofferTestSupport
import Foundation
import Testing

/// `coffer doctor --fix` is killed at each of its system calls on files. Afterwards each secret is in the file or in the vault, and the same
/// command brings the rest in.
///
/// Short by default; with `COFFER_LONG_TESTS` at every call.
@Suite(.tags(.campaign, .kill, .process), .wholeRun)
struct DoctorFixKillCampaign {
  private static let calls =
    "openat,pwrite64,fsync,fdatasync,ftruncate,fcntl,linkat,?unlink,unlinkat,?rename,renameat2,?fchmod,read,write"
  private static let netrc = "machine a.example login ada password hunter2\nmachine b.example login bob password s3cr3t\n"

  @Test func `wherever it is killed, each secret is in the file or in the vault, and the command brings the rest in`() throws {
    let home = try Home.sound()
    home.environment["HOME"] = home.path
    let words = [Home.coffer, "doctor", "--fix", "--yes", "-q"]
    let vault = try Data(contentsOf: URL(fileURLWithPath: home.vault))
    let pins = home.path + "/state"
    try FileManager.default.copyItem(atPath: pins, toPath: home.path + "/pins")
    func prepare() throws {
      _ = try home.file(".netrc", Self.netrc)
      for side in ["-wal", "-shm"] { unlink(home.vault + side) }
      _ = try home.file("data/vault.sqlite", vault)
      try FileManager.default.removeItem(atPath: pins)
      try FileManager.default.copyItem(atPath: home.path + "/pins", toPath: pins)
    }
    try prepare()
    var places = try home.calls(Self.calls, of: words)
    let all = places.count
    // From where on it does what can be left half done.
    places = places.suffix(Campaign.isLong ? all : 40)
    var killed = 0, emptied = 0
    for place in Campaign.cases(places.count, short: 7).map({ places[$0] }) {
      try prepare()
      let answer = try home.program(place.killer + words)
      if answer?.status != 0 { killed += 1 }
      let left = try home.content(".netrc")
      if left.isEmpty { emptied += 1 }
      for (item, value) in [("a.example ada", "hunter2"), ("b.example bob", "s3cr3t")] where !left.contains(value) {
        #expect(try home.coffer("vault get \(item)").out == value, "\(place)")
      }
      #expect(try home.coffer("doctor --fix --yes -q").status == 0, "\(place)")
      #expect(try home.content(".netrc").isEmpty && home.coffer("vault get a.example ada").out == "hunter2", "\(place)")
      #expect(try home.coffer("vault get b.example bob").out == "s3cr3t", "\(place)")
    }
    #expect(try home.coffer("vault verify").status == 0)
    print("doctor --fix: killed \(killed) times at one of \(all) calls, the file was rewritten by \(emptied) of those")
    #expect(killed > 0)
  }
}
