import CofferTestSupport
import Foundation
import Testing

/// A domain's files are copied, moved, put back and deleted by real tools, under processes that write: see PlainStore.md, *Limits*.
@Suite(.tags(.campaign, .process, .slow), .wholeRun) struct ReplacementCampaign {
  /// One way to replace files, in a folder with the domain in `config`.
  struct Way: Sendable, CustomTestStringConvertible {
    let name: String
    var needs: String?
    /// Keeps a copy; the processes stand still.
    var save = ""
    /// Puts other files in place, each time that it is run.
    let act: String
    /// Whether the list is put back too. What a list in use loses by that is another program's edit, as far as Coffer can tell, while
    /// it stands beside the journal of before: so all stand still until both are there.
    var isOfBoth = false
    var testDescription: String { name }
  }

  private static let journal = "config/.d.plist.coffer"
  private static let keep = "rm -rf backup; cp -a config backup"
  static let ways: [Way] = [
    Way(name: "rm", act: "rm \(journal)"),
    Way(name: "mv and cp -a", act: "n=$(ls | wc -l); mv config bak$n; cp -a bak$n config"),
    Way(name: "cp and rename", act: "cp \(journal) config/.new; mv config/.new \(journal)"),
    Way(
      name: "cp and rename an old copy", save: keep, act: "cp -a backup/.d.plist.coffer config/.new; mv config/.new \(journal)"),
    Way(
      name: "the original put back", save: "ln \(journal) original; cp -a \(journal) copy",
      act: "if [ -e copy ]; then mv copy \(journal); else ln -f original \(journal); fi"),
    Way(name: "tar", save: "tar -C config -cf backup.tar .", act: "tar -C config -xf backup.tar", isOfBoth: true),
    Way(name: "rsync -a", needs: "rsync", save: "rsync -a config/ backup/", act: "rsync -a backup/ config/", isOfBoth: true),
    Way(name: "rsync -aI", needs: "rsync", save: "rsync -a config/ backup/", act: "rsync -aI backup/ config/", isOfBoth: true),
    Way(
      name: "rsync --inplace", needs: "rsync", save: "rsync -a config/ backup/", act: "rsync -aI --inplace backup/ config/",
      isOfBoth: true),
    Way(
      name: "rsync --delete", needs: "rsync", save: "rsync -a config/ backup/; rm -f backup/.d.plist.coffer",
      act: "rsync -aI --delete backup/ config/", isOfBoth: true),
    Way(
      name: "git checkout", needs: "git",
      save: "git -C config init -q; git -C config add -Af; git -C config -c user.name=a -c user.email=a commit -qm a",
      act: "touch config/d.plist config/.d.plist.coffer; git -C config checkout -qf .", isOfBoth: true),
    Way(
      name: "stow", needs: "stow",
      act: "mkdir -p stow/d; find config -maxdepth 1 -type f -exec mv -t stow/d {} +; stow -d stow -t config -R d || true",
      isOfBoth: true
    ),
    Way(name: "cp -al", save: "cp -al config backup", act: "rm -rf old; mv config old; cp -al backup config", isOfBoth: true),
    Way(name: "cp -a in place", save: keep, act: "cp -a backup/. config/", isOfBoth: true),
  ]

  @Test(arguments: ways)
  func `nothing that was acknowledged disappears, and nothing is torn, without a word`(way: Way) throws {
    if let program = way.needs, !FileManager.default.isExecutableFile(atPath: "/usr/bin/\(program)") {
      return Test.skipPart(without: program)
    }
    // The short form takes the same choices in each run.
    var random = Campaign.isLong ? Random(campaign: "files replaced by \(way.name)") : Random(seed: UInt64(Campaign.seed) ?? 0)
    var counts: [String: Int] = [:]
    let rounds = Campaign.size(short: 2, long: max(2, 50 / Campaign.share))
    for round in 0..<rounds {
      let isStopped = round % 2 == 0
      let world = try ReplacementWorld(seed: random.next())
      world.steps(4)
      try world.run(way.save, whileStopped: true)
      world.steps(4)
      for _ in 0..<2 {
        try world.run(way.act, whileStopped: isStopped)
        world.step(round % 3)
      }
      try world.settle(isWhole: isStopped || !way.isOfBoth)
      world.steps(3)
      try world.settle(isWhole: true)
      counts.merge(world.counts) { $0 + $1 }
      if !world.failures.isEmpty {
        Issue.record("round \(round):\n\(world.failures.joined(separator: "\n"))\n\(world.trace.joined(separator: "\n"))")
        break
      }
    }
    print("files replaced by \(way.name): \(rounds) rounds, \(counts.sorted { $0.key < $1.key })")
  }
}
