internal import ArgumentParser
internal import Coffer
internal import CofferAgent
internal import CofferPlatform

struct UnlockCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "unlock", abstract: "Unlock the vault for all your shells, until it locks again.",
    discussion: """
      Starts the agent where none runs, and hands it what opens the vault. --idle and --lifetime are those of an agent that is \
      started here. Further wrong secrets after the third have to wait longer and longer (exit status 75).
      """)

  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var times: AgentTimes
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    guard !unlocking.noAgent else {
      throw Failure.usage("there is nothing to unlock without the agent", try: "coffer unlock without --no-agent")
    }
    let vault = try context.lockedVault()
    if try context.agentStatus() == nil {
      try DetachedAgent.start(times, context)
    } else if times.idle != nil || times.lifetime != nil {
      context.note("an agent runs already and keeps its times; coffer agent stop ends it")
    }
    // Asked for only now: a passphrase is typed once the agent is known to be there.
    let credentials = try context.credentials(for: vault)
    let client = AgentClient(folder: try context.runFolder(), vault: context.places.vault, options: vault.options)
    try AgentReport(client.unlock(with: credentials)).print(context, json: options.json)
  }
}

struct LockCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "lock", abstract: "Have the agent wipe its keys; it stays for the next 'coffer unlock'.",
    discussion: "Where no agent runs there is nothing to lock, and that is no error.")

  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    guard let run = context.places.run else { return }
    do throws(StoreError) { try AgentClient(folder: run).lock() } catch { guard error.kind == .noAgent else { throw error } }
  }
}
