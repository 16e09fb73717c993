internal import ArgumentParser

struct DefaultsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "defaults", abstract: "The plain store: preferences in property lists, in the spelling of macOS.",
    discussion: """
      Nothing here touches the vault, and nothing here is secret. Reading leaves no trace; a command that fails has changed \
      nothing. There is no global domain (-g, NSGlobalDomain) on Linux: it is refused, not made up.
      """,
    subcommands: [
      DefaultsRead.self, DefaultsReadType.self, DefaultsWrite.self, DefaultsDelete.self, DefaultsRename.self,
      DefaultsDomains.self, DefaultsFind.self, DefaultsExport.self, DefaultsImport.self, DefaultsWatch.self,
      DefaultsExplain.self,
    ])
}
