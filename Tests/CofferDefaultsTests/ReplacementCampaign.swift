import CofferTestSupport
import Foundation
import Testing

/// Real tools copy, move, restore and delete a domain's files while processes write: see PlainStore.md, *Limits*.
@Suite(.tags(.campaign, .process, .slow), .wholeRun) struct ReplacementCampaign {
  /// The files that come back.
  enum Scope {
    case journal
    /// Each value is there or named if nobody looks in between: a restored list next to the journal in use is another
    /// program's edit.
    case both
    /// The journal stays the same file, so that the list is an edit.
    case list
  }

  struct Way: Sendable, CustomTestStringConvertible {
    let name: String
    var needs: String?
    let scope: Scope
    /// Whether it writes into files in use: only while the processes are stopped, as they report a torn record as damage.
    var isInPlace = false
    var save = ""
    /// Puts other files in place, on each run.
    let act: String
    var testDescription: String { name }
  }

  private static let journal = "config/.d.plist.coffer"
  private static let copy = "rm -rf backup; cp -a config backup"
  private static let sync = "rsync -a config/ backup/"
  static let ways: [Way] = [
    Way(name: "rm", scope: .journal, act: "rm -f \(journal)"),
    Way(name: "cp and rename", scope: .journal, act: "cp \(journal) config/.new; mv config/.new \(journal)"),
    Way(
      name: "cp and rename an old copy", scope: .journal, save: copy,
      act: "cp -a backup/.d.plist.coffer config/.new; mv config/.new \(journal)"),
    Way(
      name: "the original put back", scope: .journal, save: "ln \(journal) original; cp -a \(journal) copy",
      act: "if [ -e copy ]; then mv copy \(journal); else ln -f original \(journal); fi"),
    Way(name: "mv and cp -a", scope: .both, act: "n=$(ls | wc -l); mv config bak$n; cp -a bak$n config || true"),
    Way(name: "tar", scope: .both, save: "tar -C config -cf backup.tar .", act: "tar -C config -xf backup.tar"),
    // It takes files of equal size and time for equal, and mapped writes change no time.
    Way(name: "rsync -a", needs: "rsync", scope: .list, save: sync, act: "rsync -a backup/ config/"),
    Way(name: "rsync -aI", needs: "rsync", scope: .both, save: sync, act: "rsync -aI backup/ config/"),
    Way(
      name: "rsync --inplace", needs: "rsync", scope: .both, isInPlace: true, save: sync,
      act: "rsync -aI --inplace backup/ config/"),
    Way(name: "rsync --delete", needs: "rsync", scope: .both, save: sync, act: "rsync -aI --delete backup/ config/"),
    Way(
      name: "git checkout", needs: "git", scope: .both,
      save: "git -C config init -q; git -C config add -Af; git -C config -c user.name=a -c user.email=a commit -qm a",
      act: "touch config/d.plist \(journal); git -C config checkout -qf . || true"),
    Way(
      name: "stow", needs: "stow", scope: .both,
      // Meanwhile writers may give it foreign files, so that it gives up, as `cp -a` and git may.
      act: "mkdir -p stow/d; find config -maxdepth 1 -type f -exec mv -t stow/d {} + || true; stow -d stow -t config -R d || true"
    ),
    Way(name: "cp -al", scope: .list, save: "cp -al config backup", act: "rm -rf old; mv config old; cp -al backup config"),
    Way(name: "cp -a in place", scope: .both, isInPlace: true, save: copy, act: "cp -a backup/. config/"),
  ]

  @Test(arguments: ways)
  func `nothing that was acknowledged disappears, and nothing is torn, without a word`(way: Way) throws {
    if let program = way.needs, !FileManager.default.isExecutableFile(atPath: "/usr/bin/\(program)") {
      return Test.skipPart(without: program)
    }
    // The short form makes the same choices in each run.
    var random = Campaign.isLong ? Random(campaign: "files replaced by \(way.name)") : Random(seed: UInt64(Campaign.seed) ?? 0)
    var counts: [String: Int] = [:]
    let rounds = Campaign.size(short: 2, long: max(2, 50 / Campaign.share))
    for round in 0..<rounds {
      let isStopped = round % 2 == 0 || way.isInPlace
      let world = try ReplacementWorld(seed: random.next())
      world.steps(4)
      try world.settle(isWhole: true)
      try world.run(way.save, whileStopped: true)
      world.steps(4)
      for _ in 0..<2 {
        try world.run(way.act, whileStopped: isStopped)
        world.step(round % 3)
      }
      try world.settle(isWhole: way.scope == .journal || way.scope == .both && isStopped)
      if !world.isDamaged {
        world.steps(3)
        try world.settle(isWhole: true)
      }
      counts.merge(world.counts) { $0 + $1 }
      if world.isDamaged { counts["rounds that ended in damage", default: 0] += 1 }
      if !world.failures.isEmpty {
        Issue.record("round \(round):\n\(world.failures.joined(separator: "\n"))\n\(world.trace.joined(separator: "\n"))")
        break
      }
    }
    print("files replaced by \(way.name): \(rounds) rounds, \(counts.sorted { $0.key < $1.key })")
  }
}
