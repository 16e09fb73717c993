internal import ArgumentParser

struct SlotCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "slot", abstract: "What opens the vault: list, add and remove ways in.",
    discussion: """
      A vault has 1 to 16 slots, each of which opens it alone. SLOT is the beginning of a slot's id, or its label. \
      Removing a slot gives the vault a new key, which is not sealed to it.
      """,
    subcommands: [SlotList.self, SlotAdd.self, SlotRemove.self, SlotLabel.self])
}
