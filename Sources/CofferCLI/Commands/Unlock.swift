internal import ArgumentParser
internal import Coffer
internal import CofferAgent
internal import CofferPlatform
internal import CofferTerminal

struct UnlockCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "unlock", abstract: "Unlock the vault for all your shells, until it locks again.",
    discussion: """
      Starts the agent if none runs, and gives it the secret that opens the vault. --idle and --lifetime hold until it locks; \
      without them the settings agent.idle and agent.lifetime do, else the agent's own times. If the vault is unlocked already, \
      it asks nothing unless an option has a new value. After the third wrong secret, each further attempt must wait longer \
      (exit status 75).
      """)

  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var times: AgentTimes
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    guard !unlocking.noAgent else {
      throw Failure.usage("there is nothing to unlock without the agent", try: "coffer unlock without --no-agent")
    }
    try context.checkIsNoMirror()
    let vault = try context.lockedVault()
    let opening = try Opening(vault.slots, of: context.places.vault, context, warning: true)
    let running = try context.agentStatus()
    if opening.needsPerson, unlocking.isEmpty, times.isEmpty, let running, running.unlocked == vault.id {
      return try AgentReport(running).print(context, json: options.json)
    }
    // A passphrase is typed once the agent is known to be there.
    if running == nil { try DetachedAgent.start(times, context) }
    let client = AgentClient(folder: context.places.run, vault: context.places.vault, options: vault.options)
    let settings = Settings(context)
    let idle = times.idle?.duration ?? settings.idle
    let lifetime = times.lifetime?.duration ?? settings.lifetime
    // The agent's own note would be in its log.
    let before = try vault.options.invitations.contains { $0.endsOlderPins } ? vault.pinMemory() : nil
    let status = try opening.open { credentials, _ in try client.unlock(with: credentials, idle: idle, lifetime: lifetime) }
    if let before, let seen = before.seen {
      let after = try vault.pinMemory()
      if after.seen ?? 0 < seen || (before.own != nil && after.own == nil) {
        context.note("accepted because of the invitation; changes up to generation \(seen) may be lost")
      }
    }
    try AgentReport(status).print(context, json: options.json)
  }
}

struct LockCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "lock", abstract: "Lock the vault: the agent wipes its keys, and keeps running.",
    discussion: """
      Locks all vaults; with --vault only that one. Without an agent there is nothing to lock; that is not an error.
      """)

  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    if context.isVaultNamed {
      try context.checkIsNoMirror()
      try context.checkName()
    }
    guard try context.lockAgent(all: !context.isVaultNamed) else {
      return context.done("nothing to lock: no agent is running")
    }
    context.done(
      context.isVaultNamed
        ? "locked: the agent has wiped the key of \(context.places.vault.short)"
        : "locked: the agent has wiped its keys; 'coffer unlock' opens the vault again")
  }
}
