import CofferPlatform
import CofferTestSupport
import CofferVaultFormat
import Foundation
import SystemPackage
import Synchronization
import Testing

@testable import CofferSync

@Suite struct FolderCarrierTests {
  let folder: TestFolder
  let there: FilePath
  let here: PieceFolder

  init() throws {
    folder = try TestFolder("folder-carrier")
    there = folder.path.appending("there")
    here = try PieceFolder(folder.path.appending("here"))
    try #require(mkdir(there.string, 0o750) == 0)
  }

  @Test func `a folder that is gone is out of reach, and is not made; an empty one has no heads`() throws {
    let carrier = FolderCarrier(there)
    #expect(try carrier.heads() == PieceListing())
    let sample = try Sample(1, [0: Sample.content(1)], in: here)
    try #require(rmdir(there.string) == 0)
    try expect(.unreachable) { _ = try carrier.heads() }
    try expect(.unreachable) { _ = try carrier.put(sample, from: here) }
    try expect(.unreachable) { try carrier.get(sample.groups, into: here) }
    try expect(.unreachable) { try carrier.remove(sample.groups) }
    #expect(access(there.string, F_OK) != 0)
  }

  @Test func `who may read the folder may read its files, and nobody else`() throws {
    let sample = try Sample(1, [0: Sample.content(1)], in: here)
    #expect(try FolderCarrier(there).put(sample, from: here))
    #expect(try FileStatus(at: there.appending("o"))?.permissions == 0o750)
    #expect(try FileStatus(at: there.appending(sample.groups[0].description))?.permissions == 0o640)
  }

  @Test func `a put that fails at any call leaves whole files and no head without its groups`() throws {
    let first = try Sample(1, [0: Sample.content(1)], in: here)
    let second = try Sample(2, [0: Sample.content(2), 1: Sample.content(3)], in: here)
    var failures = 0
    for last in 0... {
      let fresh = folder.path.appending("there-\(last)")
      try #require(mkdir(fresh.string, 0o700) == 0)
      #expect(try FolderCarrier(fresh).put(first, from: here))
      let isDone = Result { try FolderCarrier(fresh, calls: Self.calls(upTo: last)).put(second, from: here, over: [first.head]) }
      let carrier = FolderCarrier(fresh), got = try PieceFolder(folder.path.appending("got-\(last)"))
      let heads = try carrier.heads().heads
      #expect(heads.contains(first.head))
      for name in try carrier.names().names {
        #expect(try carrier.missing([name], into: got) == [] && got.read(name) == here.read(name))
      }
      if heads.contains(second.head) { #expect(try carrier.missing(second.groups, into: got) == []) }
      if case .success = isDone { break }
      failures += 1
    }
    #expect(failures > 6)
  }

  /// The real calls up to a number of them, and then a disk that fails.
  private static func calls(upTo last: Int) -> SystemCalls {
    let count = Atomic(0), real = SystemCalls()
    @Sendable func fails() -> Bool { count.add(1, ordering: .relaxed).oldValue >= last }
    var calls = real
    calls.openUnnamed = { fails() ? -EIO : real.openUnnamed($0, $1) }
    calls.open = { fails() ? -EIO : real.open($0, $1, $2) }
    calls.write = { fails() ? Int(-ENOSPC) : real.write($0, $1, $2) }
    calls.synchronize = { fails() ? -EIO : real.synchronize($0) }
    calls.name = { fails() ? -EIO : real.name($0, $1) }
    calls.rename = { fails() ? -EIO : real.rename($0, $1) }
    return calls
  }

  @Test(.tags(.root), .defaultRun)
  func `on a full disk a put fails, what lies there stays readable, and the next one is made`() throws {
    let first = try Sample(1, [0: Sample.content(1)], in: here)
    let second = try Sample(2, [0: Sample.content(2, 60_000)], in: here)
    let disk = try SmallDisk.make(at: there.string, bytes: 200_000, owner: getuid())
    let carrier = FolderCarrier(there)
    #expect(try carrier.put(first, from: here))
    try disk.fill()
    try expect(.noSpace) { _ = try carrier.put(second, from: here, over: [first.head]) }
    let got = try PieceFolder(folder.path.appending("got"))
    #expect(try carrier.heads().heads == [first.head] && carrier.missing(first.groups, into: got) == [])
    try disk.free()
    #expect(try carrier.put(second, from: here, over: [first.head]))
    #expect(try Set(carrier.heads().heads) == [first.head, second.head])
  }

  @Test func `a link in place of a folder of the remote is not followed`() throws {
    let outside = folder.path.appending("outside")
    try #require(mkdir(outside.string, 0o700) == 0)
    try FileManager.default.createSymbolicLink(atPath: there.appending("o").string, withDestinationPath: outside.string)
    let carrier = FolderCarrier(there)
    let sample = try Sample(1, [0: Sample.content(1)], in: here)
    try expect(.denied) { _ = try carrier.put(sample, from: here) }
    try expect(.denied) { try carrier.get(sample.groups, into: here) }
    try expect(.denied) { try carrier.remove(sample.groups) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: outside.string) == [])
  }

  @Test func `pipes and files above the limit of a name are missing`() throws {
    let carrier = FolderCarrier(there)
    let sample = try Sample(1, [0: Sample.content(1)], in: here)
    #expect(try carrier.put(sample, from: here))
    let pipe = PieceName.group(PlainHash.digest([1]))
    let large = PieceName.head(HeadName(generation: 9, hash: PlainHash.digest([2])))
    try #require(mkfifo(there.appending(pipe.description).string, 0o600) == 0)
    try Data(count: large.limit + 1).write(to: URL(fileURLWithPath: there.appending(large.description).string))
    #expect(try carrier.missing([pipe, large] + sample.groups, into: here) == [pipe, large])
  }
}
