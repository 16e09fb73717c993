internal import ArgumentParser
internal import Coffer

struct LockCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "lock", abstract: "Have the agent wipe its keys; it stays for the next 'coffer unlock'.",
    discussion: "Where no agent runs there is nothing to lock, and that is no error.")

  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions

  func perform(_ session: Session) throws {
    guard let run = session.places.run else { return }
    do throws(StoreError) { try AgentClient(folder: run).lock() } catch { guard error.kind == .locked else { throw error } }
  }
}
