import CofferPlatform
import CofferTestSupport
import CofferVaultFormat
import Foundation
import SystemPackage
import Testing

@testable import CofferSync

/// The promises that each carrier makes, with real programs.
@Suite(.tags(.process), .defaultRun) struct CarrierTests {
  @Test(arguments: Remote.Kind.programs)
  func `a put comes to another machine byte for byte, and a missing piece is told`(_ kind: Remote.Kind) throws {
    try Self.roundTrip(kind)
  }

  @Test(.tags(.process), .wholeRun, arguments: Remote.Kind.servers)
  func `a put comes to another machine over a server too`(_ kind: Remote.Kind) throws { try Self.roundTrip(kind) }

  private static func roundTrip(_ kind: Remote.Kind) throws {
    let remote = try Remote(kind)
    let desk = try remote.carrier(), here = try remote.pieces("desk")
    #expect(try desk.heads() == PieceListing())
    let contents = [0: Sample.content(1), 417: Sample.content(2, 70_000), 1_023: Sample.content(3)]
    let first = try Sample(1, contents, in: here)
    #expect(try desk.put(first, from: here))
    #expect(try desk.heads().names == [.head(first.head)])

    let lap = try remote.carrier(of: "lap"), got = try remote.pieces("lap")
    #expect(try lap.heads().heads == [first.head])
    #expect(try Set(lap.names().names) == Set(first.groups + [.head(first.head)]))
    let absent = [PieceName.group(PlainHash.digest([7])), .head(HeadName(generation: 1, hash: PlainHash.digest([8])))]
    let missing = try lap.missing(first.groups + [.head(first.head)] + absent, into: got)
    #expect(Set(missing) == Set(absent))
    for name in first.groups + [.head(first.head)] { #expect(try got.read(name) == here.read(name)) }

    // One group changes: only it is given, and the other machine's put stands on this one.
    let second = try Sample(2, contents.merging([417: Sample.content(4, 70_000)]) { $1 }, in: got)
    let changed = second.groups.filter { !first.groups.contains($0) }
    #expect(changed.count == 1)
    #expect(try lap.put(changed, second.head, from: got, over: [first.head], anew: false))
    #expect(try desk.heads().heads.contains(second.head))
    let whole = try remote.pieces("whole")
    #expect(try desk.missing(second.groups + [.head(second.head)], into: whole) == [])
    for name in second.groups { #expect(try whole.read(name) == got.read(name)) }

    try desk.remove([.head(first.head)] + first.groups.filter { !second.groups.contains($0) })
    try desk.remove([.head(first.head)])
    #expect(try desk.heads().heads == [second.head])
    #expect(try Set(desk.names().names) == Set(second.groups + [.head(second.head)]))
    if kind.isGit { #expect(try remote.checkedHistory() == ["\(second.head)", "\(first.head)"]) }
  }

  @Test(arguments: Remote.Kind.programs)
  func `of machines that put at once, all heads lie there, or a machine knows that it was late`(_ kind: Remote.Kind) throws {
    let remote = try Remote(kind)
    let base = try Sample(1, [0: Sample.content(1)], in: remote.pieces("base"))
    #expect(try remote.carrier(of: "base").put(base, from: remote.pieces("base")))
    let puts = Collected<(head: HeadName, isDone: Bool)>()
    let machines = 4
    Campaign.concurrently(machines) { number in
      let carrier = try remote.carrier(of: "\(number)"), folder = try remote.pieces("\(number)")
      let heads = try carrier.heads().heads
      let sample = try Sample(2, [0: Sample.content(UInt8(10 + number)), 1: Sample.content(1)], in: folder)
      puts.add((sample.head, try carrier.put(sample, from: folder, over: heads)))
    }
    let done = puts.all.filter(\.isDone).map(\.head)
    try #require(puts.all.count == machines)
    let carrier = try remote.carrier(of: "last")
    let heads = try carrier.heads().heads
    if kind.isGit {
      // Each put that was made stands on the one before it.
      let history = try remote.checkedHistory()
      #expect(!done.isEmpty && Set(history) == Set(done.map(\.description) + ["\(base.head)"]) && heads.count == 1)
    } else {
      #expect(done.count == machines && Set(heads) == Set(done + [base.head]))
    }
    #expect(try carrier.missing(heads.map { .head($0) }, into: remote.pieces("last")) == [])
  }

  @Test(arguments: Remote.Kind.files)
  func `names of others are passed over and counted, and links lead nowhere`(_ kind: Remote.Kind) throws {
    let remote = try Remote(kind)
    let carrier = try remote.carrier(), here = try remote.pieces("desk")
    let sample = try Sample(3, [0: Sample.content(1)], in: here)
    #expect(try carrier.put(sample, from: here))
    let head = sample.head.description
    for name in ["h/\(head).sync-conflict-20261124", "h/03-\(sample.head.hash)", "h/notes.txt", "h/.hidden", "o/UPPER"] {
      try Remote.write("x", to: remote.there.appending(name), mode: 0o644)
    }
    let listing = try carrier.heads()
    #expect(listing.heads == [sample.head])
    #expect(try carrier.names().strangers == 4)
    // A link from a piece's name to a file of this machine is no piece. Other programs may follow it: hashes tell.
    try Remote.write("secret", to: remote.folder.path.appending("secret"), mode: 0o600)
    let linked = PieceName.group(PlainHash.digest([9]))
    try FileManager.default.createSymbolicLink(
      atPath: remote.there.appending(linked.description).string,
      withDestinationPath: remote.folder.path.appending("secret").string)
    if kind == .folder { #expect(try carrier.missing([linked], into: remote.pieces("lap")) == [linked]) }
  }

  @Test(arguments: Remote.Kind.files)
  func `a piece that was cut short comes as it is, and the next put of it makes it whole`(_ kind: Remote.Kind) throws {
    let remote = try Remote(kind)
    let carrier = try remote.carrier(), here = try remote.pieces("desk")
    let sample = try Sample(1, [0: Sample.content(1)], in: here)
    #expect(try carrier.put(sample, from: here))
    let file = remote.there.appending(sample.groups[0].description)
    try #require(truncate(file.string, 100) == 0)
    let got = try remote.pieces("lap")
    #expect(try carrier.missing(sample.groups, into: got) == [] && got.read(sample.groups[0])?.count == 100)
    #expect(try carrier.put(sample, from: here, over: [sample.head]))
    #expect(try carrier.missing(sample.groups, into: got) == [] && got.read(sample.groups[0]) == here.read(sample.groups[0]))
  }

  @Test(arguments: Remote.Kind.programs)
  func `a head whose files are not there is not put`(_ kind: Remote.Kind) throws {
    let remote = try Remote(kind)
    let carrier = try remote.carrier(), here = try remote.pieces("desk")
    #expect(try carrier.heads() == PieceListing())
    let sample = try Sample(1, [0: Sample.content(1)], in: here)
    try #require(unlink(here.path(of: sample.groups[0]).string) == 0)
    try expect(.incomplete) { _ = try carrier.put(sample, from: here) }
    #expect(try carrier.heads().heads == [])
  }
}
