internal import ArgumentParser
internal import Coffer
internal import CofferPlatform

struct AgentStop: Command {
  static let configuration = CommandConfiguration(
    commandName: "stop", abstract: "Have the agent wipe its keys and end.", discussion: "Exit status 1 where none runs.")

  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions

  func perform(_ session: Session) throws {
    let client = AgentClient(folder: try session.runFolder())
    do throws(StoreError) { try client.stop() } catch {
      guard error.kind == .locked else { throw error }
      throw StoreError(.notFound, "no agent is running", place: error.place, cure: "nothing is left to do")
    }
    // The keys are wiped by now; the socket's name goes a moment later, and whoever starts another agent needs that. On a busy
    // machine a moment may be seconds.
    for _ in 0..<15_000 {
      // It may go in the midst of the question, which is an answer too.
      do throws(StoreError) { guard try client.isRunning() else { return } } catch {}
      usleep(2_000)
    }
  }
}
