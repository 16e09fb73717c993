import CofferTestSupport
import Foundation
import Testing

/// `coffer vault mirror` is killed at its system calls on files. Afterwards the mirror is the old or the new one, whole and
/// readable, or absent if it was; and the next refresh works.
///
/// Short by default; at every call with `COFFER_LONG_TESTS`.
@Suite(.tags(.campaign, .kill, .process), .wholeRun)
struct MirrorKillCampaign {
  private static let calls =
    "openat,pwrite64,fsync,fdatasync,ftruncate,linkat,?unlink,unlinkat,?rename,renameat,renameat2,?mkdir,fchmod,flock"

  @Test(arguments: [false, true])
  func `wherever a refresh is killed, the old mirror or the new one is read, and the next refresh works`(isFirst: Bool) throws {
    let home = try Home.withSharedVault()
    let mirror = home.path + "/m/mirror"
    let words = [Home.coffer, "vault", "mirror", mirror, "-q"]
    var value = 0
    func commit() throws {
      value += 1
      try home.transcript("vault set a -q", in: "\(value)")
      guard isFirst else { return }
      if home.exists("m") { try FileManager.default.removeItem(atPath: home.path + "/m") }
      for pin in try FileManager.default.contentsOfDirectory(atPath: home.path + "/state/pins") where pin.hasPrefix("mi-") {
        unlink("\(home.path)/state/pins/\(pin)")
      }
    }
    try home.transcript("vault set a", in: "0")
    try home.transcript("vault mirror \(mirror) -q")
    try commit()
    var places = try home.calls(Self.calls, of: words)
    // From the first call that makes anything: the program's own files and the vault's come before.
    let all = places.count
    places = places.suffix(Campaign.isLong ? all : 40)
    var killed = 0, tally = ["old": 0, "new": 0, "none": 0]
    for place in Campaign.cases(places.count, short: 2).map({ places[$0] }) {
      try commit()
      let answer = try home.program(place.killer + words)
      if answer?.status != 0 { killed += 1 }
      let left = try home.coffer("vault get a -q --vault mirror:\(mirror)")
      switch (left.status, left.out) {
      case (0, "\(value)"): tally["new", default: 0] += 1
      case (0, "\(value - 1)") where !isFirst: tally["old", default: 0] += 1
      case (78, "") where isFirst: tally["none", default: 0] += 1
      default: Issue.record("\(place): \(left.status) \(left.out) \(left.err)")
      }
      #expect(try home.coffer("vault mirror \(mirror) -q").status == 0, "\(place)")
      try home.transcript("vault get a -q --vault mirror:\(mirror)", out: "\(value)")
      #expect(try FileManager.default.contentsOfDirectory(atPath: home.path + "/m") == ["mirror"], "\(place)")
    }
    print("mirror, \(isFirst ? "the first" : "a later one"): killed \(killed) times at one of \(all) calls; then \(tally)")
    #expect(killed > 0)
  }
}
