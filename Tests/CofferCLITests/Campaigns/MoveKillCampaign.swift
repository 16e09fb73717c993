import CofferTestSupport
import Foundation
import Testing

/// `coffer rename --to-vault` is killed at its system calls on files. Afterwards both vaults are whole, at least one has the
/// item, and the same command moves it.
///
/// Short by default; at every call with `COFFER_LONG_TESTS`.
@Suite(.tags(.campaign, .kill, .process), .wholeRun)
struct MoveKillCampaign {
  private static let calls = "openat,pwrite64,fsync,fdatasync,ftruncate,fcntl,?unlink,unlinkat,?rename,renameat2"

  @Test func `wherever a move to another vault is killed, the item is in one of them`() throws {
    let (here, there) = (try Home.withVault(), try Home.withVault())
    try here.transcript("set a", in: "hush")
    let words = [
      Home.coffer, "rename", "a", "--to-vault", there.vault, "--other-key-file", "\(there.path)/key", "--replace", "-q",
    ]
    var places = try here.calls(Self.calls, of: words)
    // The first calls only open both vaults.
    places = places.suffix(Campaign.isLong ? places.count : 80)
    var killed = 0
    for place in Campaign.cases(places.count, short: 8).map({ places[$0] }) {
      try here.transcript("set a -q", in: "hush")
      try there.coffer("delete a -q")
      if try here.program(place.killer + words)?.status != 0 { killed += 1 }
      let found = try [here, there].map { try $0.coffer("get a").out }
      #expect(found.contains("hush") && Set(found).isSubset(of: ["hush", ""]), "\(place): \(found)")
      for home in [here, there] { #expect(try home.coffer("vault verify").status == 0, "\(place)") }
      try here.transcript("set a -q", in: "hush")
      #expect(try here.program(words)?.status == 0 && here.coffer("get a").status == 1, "\(place)")
      try there.transcript("get a", out: "hush")
    }
    print("move: killed \(killed) times")
    #expect(killed > 0)
  }
}
