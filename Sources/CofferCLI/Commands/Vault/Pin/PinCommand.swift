internal import ArgumentParser

struct PinCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pin", abstract: "What this machine remembers of the vault, to notice an older copy of the whole file.",
    discussion: """
      Each time a vault is opened or written, its newest commit is noted outside of it. An older copy, another vault in its place, or \
      one that went on without this machine's writes is then refused, with exit status 66, until you accept it.
      """,
    subcommands: [PinShow.self, PinAccept.self])
}
