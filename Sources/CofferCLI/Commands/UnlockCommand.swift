internal import ArgumentParser
internal import Coffer

struct UnlockCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "unlock", abstract: "Unlock the vault for all your shells, until it locks again.",
    discussion: """
      Starts the agent where none runs, and hands it what opens the vault. --idle and --lifetime are those of an agent that is \
      started here. Further wrong secrets after the third have to wait longer and longer (exit status 75).
      """)

  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var times: AgentTimes
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    guard !unlocking.noAgent else {
      throw Failure.usage("there is nothing to unlock without the agent", try: "coffer unlock without --no-agent")
    }
    let sources = CredentialSources(options: unlocking, session: session)
    try sources.claimInput()
    let vault = try session.lockedVault(unlocking)
    if try session.agentStatus() == nil {
      try DetachedAgent.start(times, session)
    } else if times.idle != nil || times.lifetime != nil {
      session.note("an agent runs already and keeps its times; coffer agent stop ends it")
    }
    // Asked for only now: a passphrase is typed once the agent is known to be there.
    let credentials = try session.credentials(for: vault, unlocking)
    let client = AgentClient(folder: try session.runFolder(), vault: session.places.vault, options: vault.options)
    try AgentReport(client.unlock(with: credentials)).print(session, json: output.json)
  }
}
