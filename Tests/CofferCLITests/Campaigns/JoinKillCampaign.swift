import CofferTestSupport
import Foundation
import Testing

/// `coffer vault join --save` is killed at its system calls on files. Afterwards the identity's file has its old or new
/// content, the vault is whole, and the same command joins it.
///
/// Short by default; at every call with `COFFER_LONG_TESTS`.
@Suite(.tags(.campaign, .kill, .process), .wholeRun)
struct JoinKillCampaign {
  private static let calls =
    "openat,pwrite64,fsync,fdatasync,ftruncate,fcntl,linkat,?unlink,unlinkat,?rename,renameat2,?mkdir,?fchmod,read,write"

  @Test func `wherever join is killed, the identity stays what it was or has the invitation, and join can be repeated`() throws {
    let owner = try Home.withVault()
    try owner.transcript("vault set a", in: "hush")
    let (guest, recipient) = try Home.withIdentity()
    let invitation = try owner.changesKey("vault slot add --recipient \(recipient)")
    let identity = try guest.content("me")
    let words = [Home.coffer, "vault", "join", owner.vault, invitation, "--save", "-q"]
    var places = try guest.calls(Self.calls, of: words)
    // From the first call with possibly partial effects.
    let all = places.count
    places = places.suffix(Campaign.isLong ? all : 60)
    var killed = 0, saved = 0
    for place in Campaign.cases(places.count, short: 6).map({ places[$0] }) {
      _ = try guest.file("me", identity)
      for folder in ["state", "run"] where guest.exists(folder) {
        try FileManager.default.removeItem(atPath: "\(guest.path)/\(folder)")
      }
      let answer = try guest.program(place.killer + words)
      if answer?.status != 0 { killed += 1 }
      let left = try guest.content("me")
      #expect([identity, "\(identity)\(invitation)\n"].contains(left) && guest.mode("me") == 0o600, "\(place): \(left.count)")
      if left != identity { saved += 1 }
      #expect(try guest.coffer("vault join \(owner.vault) \(invitation) --save -q").status == 0, "\(place)")
      #expect(try guest.content("me") == "\(identity)\(invitation)\n", "\(place)")
    }
    #expect(try owner.coffer("vault verify").status == 0)
    print("join: killed \(killed) times at one of \(all) calls, the invitation was saved by \(saved) of those")
    #expect(killed > 0)
  }
}
