import CofferTestSupport
import Foundation
import Testing

/// `coffer doctor --fix` and `coffer set --secret` are killed at their system calls on files. Afterwards each secret is in
/// its old place or in the vault, the next command removes all traces, and the same command moves the rest.
///
/// Short by default; at every call with `COFFER_LONG_TESTS`.
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
    // From the first call with possibly partial effects.
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

  private static let token = "ghp_" + String(repeating: "aB3dE6gH9", count: 4)

  @Test(
    arguments: ["set token --secret --domain app", "doctor --fix --yes -q"], ["get theme --domain app", "defaults read app"])
  func `wherever a move out of the preferences is killed, no secret can be read after the next command`(
    line: String, next: String
  )
    throws
  {
    let home = try Home.sound()
    for round in 1...2 {
      try home.transcript("set theme round\(round) --plain --domain app")
      try home.transcript("set token \(Self.token) --plain --domain app")
    }
    let kept = ["config", "state", "data"]
    for folder in kept {
      try FileManager.default.copyItem(atPath: "\(home.path)/\(folder)", toPath: "\(home.path)/\(folder).kept")
    }
    func prepare() throws {
      for folder in kept {
        try FileManager.default.removeItem(atPath: "\(home.path)/\(folder)")
        try FileManager.default.copyItem(atPath: "\(home.path)/\(folder).kept", toPath: "\(home.path)/\(folder)")
      }
    }
    func readable(_ text: String) throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: home.path + "/config").filter { name in
        let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(home.path)/config/\(name)"))
        return bytes.range(of: Data(text.utf8)) != nil
      }
    }
    let words = [Home.coffer] + Home.words(line)
    try prepare()
    let places = try home.calls(Self.calls, of: words)
    let chosen = Campaign.cases(places.count, short: 6).map { places[$0] }
    var (killed, traces, moved) = (0, 0, 0)
    for place in chosen {
      try prepare()
      guard try home.program(place.killer + words)?.status != 0 else { continue }
      killed += 1
      let left = try readable(Self.token)
      if !left.isEmpty {
        let told = try home.coffer("doctor")
        #expect(told.status == 2 && told.out.contains("plain secrets: ") && !told.out.contains(Self.token), "\(place): \(left)")
      }
      let answer = try home.coffer(next)
      #expect(answer.status == 0 && !answer.out.contains("scrub-pending"), "\(place): \(answer.out)")
      if try home.coffer("vault get app token").out == Self.token {
        moved += 1
        if !left.isEmpty { traces += 1 }
        #expect(try readable(Self.token).isEmpty, "\(place)")
        #expect(try home.coffer("doctor").status == 0, "\(place)")
      } else {
        #expect(try home.coffer("get token --domain app").out == Self.token, "\(place)")
        #expect(try home.coffer(line).status == 0 && readable(Self.token).isEmpty, "\(place)")
      }
      #expect(try home.coffer("defaults read app theme").out == "round2\n", "\(place)")
    }
    print(
      "\(line), then \(next): \(killed) kills at \(chosen.count) of \(places.count) calls, moved by \(moved), \(traces) with traces"
    )
    #expect(killed > 0)
  }
}
