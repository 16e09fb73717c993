import CofferTestSupport
import Foundation
import Testing

/// Each system call of `coffer init` on files fails once. Afterwards there is no vault and a second init makes one, or the
/// vault opens with its key file.
///
/// Short by default; at every call with `COFFER_LONG_TESTS`.
@Suite(.tags(.campaign, .kill, .process), .wholeRun)
struct InitFaultCampaign {
  private static let calls =
    "openat,pread64,pwrite64,fsync,fdatasync,ftruncate,fcntl,newfstatat,fstat,?unlink,unlinkat,?rename,renameat2,?mkdir,?access,read,write"

  @Test func `whichever call of init fails, no vault is left without its key`() throws {
    let whole = try Home()
    var places = try whole.calls(Self.calls, of: [Home.coffer, "init", "-q", "--new-key-file", whole.path + "/key"])
    let all = places.count
    if !Campaign.isLong { places = places.enumerated().filter { $0.offset % 45 == 44 }.map(\.element) }
    var made = 0, failed = 0
    for place in places {
      let home = try Home()
      let key = home.path + "/key"
      let answer = try #require(try home.program(place.failure + [Home.coffer, "init", "-q", "--new-key-file", key]))
      if answer.status != 0 { failed += 1 }
      if home.exists("data/vault.sqlite") {
        made += 1
        #expect(try home.coffer("vault verify --key-file \(key)").status == 0, "\(place): \(answer)")
      } else {
        #expect(answer.status != 0, "\(place): \(answer)")
        // A key file that a killed program left or that could not be removed is the caller's to check.
        unlink(key)
        #expect(try home.coffer("init -q --new-key-file \(key)").status == 0, "\(place): \(answer)")
      }
    }
    print("init: \(places.count) of \(all) calls were to fail, \(failed) times it said so, \(made) vaults that open")
    #expect(failed > 0)
  }

  @Test func `a vault whose new name may be lost with the power is made, and its key file stays`() throws {
    let home = try Home()
    let command = "init -q --new-key-file \(home.path)/key"
    #expect(try home.traced(["-y", "-e", "trace=fdatasync"], command).status == 0)
    let syncs = try home.content("trace").split(separator: "\n").filter { $0.contains(" fdatasync(") }
    let last = try #require(syncs.lastIndex { $0.contains("/data>)") }) + 1
    for name in ["data", "state", "key"] { try FileManager.default.removeItem(atPath: "\(home.path)/\(name)") }
    let answer = try home.traced(["-e", "trace=fdatasync", "-e", "inject=fdatasync:error=EIO:when=\(last)"], command)
    #expect(answer.status == 74 && answer.err.contains("may not survive a power failure"), "\(answer)")
    #expect(answer.err.contains("keep the new key file \(home.path)/key"), "\(answer)")
    try home.transcript("vault list --key-file \(home.path)/key -q")
  }
}
