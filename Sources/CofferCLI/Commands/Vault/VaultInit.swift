internal import ArgumentParser

struct VaultInit: Command {
  static let configuration = CommandConfiguration(
    commandName: "init", abstract: "Make a vault.", discussion: initDiscussion)
  @OptionGroup var options: InitOptions
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { options.output.json }
  func perform(_ session: Session) throws { try options.perform(session) }
}
