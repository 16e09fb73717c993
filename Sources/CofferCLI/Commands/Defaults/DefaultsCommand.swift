internal import ArgumentParser

struct DefaultsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "defaults", abstract: "The plain store: preferences in property lists, in the spelling of macOS.",
    discussion: "Nothing here touches the vault, and nothing here is secret.",
    subcommands: [DefaultsRead.self, DefaultsWrite.self, DefaultsDelete.self, DefaultsDomains.self, DefaultsWatch.self])
}
