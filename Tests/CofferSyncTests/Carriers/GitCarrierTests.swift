import CofferPlatform
import CofferTestSupport
import CofferVaultFormat
import Foundation
import SystemPackage
import Testing

@testable import CofferSync

@Suite(.tags(.process), .defaultRun) struct GitCarrierTests {
  @Test func `a put over heads that are no longer there is late, and changes nothing`() throws {
    let remote = try Remote(.gitPath), here = try remote.pieces("desk")
    let desk = try remote.carrier(), lap = try remote.carrier(of: "lap")
    let first = try Sample(1, [0: Sample.content(1)], in: here)
    #expect(try desk.heads() == PieceListing() && lap.heads() == PieceListing())
    #expect(try desk.put(first, from: here))
    // Both saw an empty repository.
    let other = try Sample(1, [0: Sample.content(2)], in: here)
    #expect(try !lap.put(other, from: here))
    #expect(try lap.heads().heads == [first.head])
    #expect(try !lap.put(other, from: here, over: [other.head]))
    let third = try Sample(3, [0: Sample.content(3)], in: here)
    #expect(try desk.put(third, from: here, over: [first.head]))
    #expect(try !lap.put(other, from: here, over: [first.head]))
    #expect(try remote.checkedHistory() == ["\(third.head)", "\(first.head)"])
  }

  @Test func `to begin anew leaves one commit, and is late like any put`() throws {
    let remote = try Remote(.gitPath), here = try remote.pieces("desk")
    let desk = try remote.carrier(), lap = try remote.carrier(of: "lap")
    let samples = try (1...4).map { try Sample(UInt64($0), [0: Sample.content(UInt8($0)), 1: Sample.content(9)], in: here) }
    #expect(try desk.heads() == PieceListing() && desk.put(samples[0], from: here))
    #expect(try lap.heads().heads == [samples[0].head])
    #expect(try desk.put(samples[1], from: here, over: [samples[0].head]))
    #expect(try !lap.put(samples[2], from: here, over: [samples[0].head], anew: true))
    let changed = samples[2].groups.filter { !samples[0].groups.contains($0) }
    #expect(try desk.put(changed, samples[2].head, from: here, over: [samples[1].head], anew: true))
    #expect(try remote.checkedHistory() == ["\(samples[2].head)"])
    // Who had the old branch follows the new one.
    #expect(try lap.heads().heads == [samples[2].head] && lap.missing(samples[2].groups, into: remote.pieces("lap")) == [])
    #expect(try lap.put(samples[3], from: here, over: [samples[2].head]))
    #expect(try remote.checkedHistory() == ["\(samples[3].head)", "\(samples[2].head)"])
  }

  @Test func `the tree has stable names, and nothing of the user or the machine is in a commit`() throws {
    let remote = try Remote(.gitPath), here = try remote.pieces("desk")
    let first = try Sample(1, [3: Sample.content(1), 1_023: Sample.content(2)], in: here)
    #expect(try remote.carrier().put(first, from: here))
    let names = try Remote.run(["git", "-C", remote.there.string, "ls-tree", "-r", "--name-only", "coffer"])
    #expect(names == "head\no/0003\no/1023\n")
    let commit = try Remote.run(["git", "-C", remote.there.string, "cat-file", "commit", "coffer"])
    let lines = commit.split(separator: "\n")
    #expect(lines.count == 4 && lines[3] == "\(first.head)")
    for line in lines[1...2] { #expect(line.contains(" coffer <coffer@localhost> ") && line.hasSuffix(" +0000")) }
  }

  @Test func `one changed group costs a difference each way`() throws {
    let remote = try Remote(.gitPath), here = try remote.pieces("desk")
    let packs = remote.folder.path.appending("packs")
    let trace = ["GIT_TRACE_PACKFILE=\(packs)"]
    let desk = try remote.carrier(), lap = try remote.carrier(of: "lap", trace)
    var contents = Dictionary(uniqueKeysWithValues: (0..<8).map { ($0, Sample.content(UInt8($0), 32_000)) })
    var last = try Sample(1, contents, in: here)
    #expect(try desk.put(last, from: here) && lap.heads().heads == [last.head])
    for round in UInt8(2)...4 {
      contents[5]?.replaceSubrange(100..<300, with: Sample.content(round, 200))
      let next = try Sample(UInt64(round), contents, in: here)
      #expect(try desk.put(next.groups, next.head, from: here, over: [last.head], anew: false))
      last = next
      unlink(packs.string)
      #expect(try lap.heads().heads == [last.head] && lap.missing(last.groups, into: remote.pieces("lap")) == [])
      let size = try #require(try FileStatus(at: packs)?.size)
      #expect(size < 3_000, "\(size) bytes")
    }
  }

  @Test func `a branch of another's is told, and never overwritten`() throws {
    let remote = try Remote(.gitPath), here = try remote.pieces("desk")
    let tree = try Remote.run(["sh", "-c", "git -C '\(remote.there)' mktree </dev/null"]).trimmingCharacters(in: .newlines)
    let commit = try Remote.run([
      "git", "-C", remote.there.string, "-c", "user.name=x", "-c", "user.email=x@x", "commit-tree", tree, "-m", "my work",
    ]).trimmingCharacters(in: .newlines)
    try Remote.run(["git", "-C", remote.there.string, "update-ref", "refs/heads/coffer", commit])
    let carrier = try remote.carrier(), sample = try Sample(1, [0: Sample.content(1)], in: here)
    #expect(try carrier.heads().heads == [] && carrier.heads().strangers == 1)
    for anew in [false, true] { try expect(.refused) { _ = try carrier.put(sample, from: here, anew: anew) } }
    #expect(try remote.checkedHistory() == ["my work"])
  }

  @Test func `a place without a repository, and one out of reach, are told with git's reason`() throws {
    let remote = try Remote(.gitPath), folder = remote.folder.path
    func carrier(_ address: String, isPath: Bool) throws -> GitCarrier {
      try GitCarrier(address, isPath: isPath, folder: folder.appending("c"), groups: { Sample.groups(of: $0) })
    }
    try expect(.notFound) { _ = try carrier(folder.appending("nothing").string, isPath: true).heads() }
    let error = try expect(.unreachable) { _ = try carrier("http://127.0.0.1:9/v.git", isPath: false).heads() }
    #expect(error.what.contains("127.0.0.1"))
    // No address of a network leads to a path, not by the user's configuration either.
    #expect(throws: StoreError.self) { try carrier(remote.there.string, isPath: false).heads() }
  }

  @Test func `a repository that refuses a put is told with its reason`() throws {
    let remote = try Remote(.gitPath), here = try remote.pieces("desk"), desk = try remote.carrier()
    let samples = try (1...2).map { try Sample(UInt64($0), [0: Sample.content(UInt8($0))], in: here) }
    #expect(try desk.heads() == PieceListing() && desk.put(samples[0], from: here))
    func refusal(anew: Bool) throws -> StoreError {
      try #require(throws: StoreError.self) { try desk.put(samples[1], from: here, over: [samples[0].head], anew: anew) }
    }
    let lock = remote.there.appending("refs/heads/coffer.lock").string
    try Data().write(to: URL(filePath: lock))
    let locked = try refusal(anew: false)
    #expect(locked.kind == .unreachable && locked.what.contains("cannot lock ref") && locked.what.contains("coffer.lock"))
    unlink(lock)
    try Remote.run(["git", "-C", remote.there.string, "config", "receive.denyNonFastForwards", "true"])
    let denied = try refusal(anew: true)
    #expect(denied.kind == .refused && denied.what.contains("denying non-fast-forward refs/heads/coffer"))
  }

  @Test func `no hook and no command of a repository on a stick runs, nor a hook or a signature of the user's`() throws {
    let remote = try Remote(.gitPath), here = try remote.pieces("desk"), folder = remote.folder.path
    let trap = folder.appending("trap"), sprung = folder.appending("sprung")
    try Remote.write("#!/bin/sh\ntouch '\(sprung)'\n", to: trap, mode: 0o700)
    let hooks = remote.there.appending("hooks")
    for name in ["pre-receive", "update", "post-receive", "post-update", "reference-transaction", "proc-receive"] {
      try? FileManager.default.createDirectory(atPath: hooks.string, withIntermediateDirectories: true)
      try Remote.write("#!/bin/sh\ntouch '\(sprung)'\n", to: hooks.appending(name), mode: 0o700)
    }
    let other = folder.appending("other.git")
    try Remote.run(["git", "init", "--quiet", "--bare", other.string])
    try Remote.write("\(other)/objects\n", to: remote.there.appending("objects/info/alternates"), mode: 0o600)
    for setting in ["alternateRefsCommand", "fsmonitor", "sshCommand", "askPass", "pager", "gitProxy"] {
      try Remote.run(["git", "-C", remote.there.string, "config", "core." + setting, trap.string])
    }
    let config = folder.appending("config")
    try Remote.write(
      """
      [core]
        hooksPath = \(hooks)
        askPass = \(trap)
      [commit]
        gpgSign = true
      [push]
        gpgSign = true
        followTags = true
      [gpg]
        program = \(trap)
      [user]
        name = Ada
        email = ada@example.com

      """, to: config, mode: 0o600)
    let settings = ["GIT_CONFIG_GLOBAL=\(config)"]
    let desk = try remote.carrier(of: "desk", settings), lap = try remote.carrier(of: "lap", settings)
    let first = try Sample(1, [0: Sample.content(1)], in: here), second = try Sample(2, [0: Sample.content(2)], in: here)
    #expect(try desk.put(first, from: here))
    #expect(try lap.heads().heads == [first.head] && lap.put(second, from: here, over: [first.head], anew: true))
    #expect(try desk.heads().heads == [second.head])
    #expect(access(sprung.string, F_OK) != 0)
    // The traps are real: a plain push springs them.
    let cache = remote.folder.path.appending("carrier-desk/repository").string
    _ = try Remote.end(of: ["git", "--git-dir", cache, "push", remote.there.string, "refs/coffer/tip:refs/heads/plain"])
    #expect(access(sprung.string, F_OK) == 0)
  }

  @Test func `locks of a git that was killed hold up no sync`() throws {
    let remote = try Remote(.gitPath), here = try remote.pieces("desk")
    let first = try Sample(1, [0: Sample.content(1)], in: here)
    #expect(try remote.carrier().put(first, from: here))
    let lap = try remote.carrier(of: "lap")
    #expect(try lap.heads().heads == [first.head])
    let second = try Sample(2, [0: Sample.content(2)], in: here)
    #expect(try remote.carrier().put(second, from: here, over: [first.head]))
    let repository = remote.folder.path.appending("carrier-lap/repository").string
    for lock in ["refs/coffer/tip.lock", "shallow.lock", "packed-refs.lock"] {
      #expect(FileManager.default.createFile(atPath: "\(repository)/\(lock)", contents: nil))
    }
    #expect(try remote.carrier(of: "lap").heads().heads == [second.head])
  }

  @Test func `a damaged cache is made anew, as it holds nothing of its own`() throws {
    let remote = try Remote(.gitPath), here = try remote.pieces("desk")
    let desk = try remote.carrier(), lap = try remote.carrier(of: "lap")
    let first = try Sample(1, [0: Sample.content(1)], in: here), second = try Sample(2, [0: Sample.content(2)], in: here)
    #expect(try desk.put(first, from: here) && lap.heads().heads == [first.head])
    let objects = remote.folder.path.appending("carrier-lap/repository/objects")
    for name in try FileManager.default.subpathsOfDirectory(atPath: objects.string) where !name.hasPrefix("info") {
      chmod(objects.appending(name).string, 0o700)
      truncate(objects.appending(name).string, 0)
    }
    #expect(try desk.put(second, from: here, over: [first.head]))
    #expect(try lap.heads().heads == [second.head] && lap.missing(second.groups, into: remote.pieces("lap")) == [])
  }

  @Test func `what is no blob, and one that is too large, is missing`() throws {
    let remote = try Remote(.gitPath), here = try remote.pieces("desk")
    let sample = try Sample(1, [0: Sample.content(1), 1: Sample.content(2)], in: here)
    #expect(try remote.carrier().put(sample, from: here))
    // The same head over a tree in place of one group.
    let script = """
      cd '\(remote.there)' && head=$(git rev-parse coffer:head) && one=$(git rev-parse coffer:o/0001)
      empty=$(git mktree </dev/null) && o=$(printf '040000 tree %s\\t0000\\n100644 blob %s\\t0001\\n' $empty $one | git mktree)
      root=$(printf '100644 blob %s\\thead\\n040000 tree %s\\to\\n' $head $o | git mktree)
      git update-ref refs/heads/coffer $(git -c user.name=x -c user.email=x@x commit-tree $root -p coffer -m '\(sample.head)')
      """
    try Remote.run(["sh", "-ec", script])
    let lap = try remote.carrier(of: "lap"), got = try remote.pieces("lap")
    #expect(try lap.heads().heads == [sample.head])
    #expect(try lap.missing(sample.groups + [.head(sample.head)], into: got) == [sample.groups[0]])
    #expect(try got.read(sample.groups[1]) == here.read(sample.groups[1]))
  }
}
