import CofferTestSupport
import Foundation
import SystemPackage
import Testing

/// `coffer vault clone` is killed at its system calls on files. Afterwards there is no vault or a whole one, and the same
/// command or a sync completes it.
///
/// Short by default; at every call with `COFFER_LONG_TESTS`.
@Suite(.tags(.campaign, .kill, .process), .wholeRun)
struct CloneKillCampaign {
  private static let calls =
    "openat,pwrite64,fsync,fdatasync,ftruncate,fcntl,linkat,?unlink,unlinkat,?rename,renameat2,?mkdir,?fchmod,read,write"

  private func lap(_ desk: Home) throws -> Home {
    let lap = try Home()
    lap.environment["COFFER_KEY_FILE"] = desk.path + "/key"
    return lap
  }

  private func names(_ home: Home) throws -> Set<String> {
    try Set(FileManager.default.contentsOfDirectory(atPath: home.path).filter { !$0.hasPrefix(".run") && $0 != "trace" })
  }

  @Test func `wherever clone is killed, no vault or a whole one is left, and it can be completed`() throws {
    let desk = try Home.withVault()
    try desk.transcript("vault set web ada", in: "first")
    let store = try TestFolder("store"), remote = store.path.string + "/r", before = store.path.string + "/before"
    try FileManager.default.createDirectory(atPath: remote, withIntermediateDirectories: true)
    try #require(desk.coffer("vault sync \(remote) -q").status == 0)
    try FileManager.default.copyItem(atPath: remote, toPath: before)
    let words = [Home.coffer, "vault", "clone", remote, "-q"]
    let first = try lap(desk)
    // From the first call with possibly partial effects.
    var places = try first.calls(Self.calls, of: words)
    let all = places.count
    places = places.suffix(Campaign.isLong ? all : 450)
    var killed = 0, made = 0
    for place in Campaign.cases(places.count, short: 16).map({ places[$0] }) {
      try FileManager.default.removeItem(atPath: remote)
      try FileManager.default.copyItem(atPath: before, toPath: remote)
      let lap = try lap(desk)
      if try lap.program(place.killer + words)?.status != 0 { killed += 1 }
      let isMade = try lap.coffer("vault verify").status == 0
      if isMade { made += 1 }
      #expect(try lap.coffer(isMade ? "vault sync \(remote) -q" : "vault clone \(remote) -q").status == 0, "\(place)")
      try lap.transcript("vault get web ada", out: "first")
      try lap.transcript("vault set web ada -q", in: "second")
      #expect(try lap.coffer("vault sync -q").status == 0 && desk.coffer("vault sync \(remote) -q").status == 0, "\(place)")
      try desk.transcript("vault get web ada", out: "second")
      #expect(try names(lap) == names(first), "\(place)")
      try desk.transcript("vault set web ada -q", in: "first")
      #expect(try desk.coffer("vault sync \(remote) --forget -q").status == 0)
    }
    print("clone: killed \(killed) times at one of \(all) calls, the vault was whole after \(made) of those")
    #expect(made > 0 && killed > made)
  }
}
