internal import CofferAgent
internal import CofferPlatform
internal import CofferSync
internal import CofferTerminal

extension Context {
  /// Shows a person the conflicts and errors of the agent's automatic syncs, each once.
  func showNews(of agent: AgentClient) {
    guard !isNewsShown, !quiet, !json, Display.errors.isTerminal else { return }
    isNewsShown = true
    do throws(StoreError) {
      for outcome in try agent.syncNews() {
        if let error = outcome.error {
          note("automatic sync with \(outcome.remote): \(error.what); coffer vault sync tries again")
        }
        for taken in outcome.report?.taken ?? [] {
          for remark in MergePlanText(report: taken.changes).remarks { note("synced with \(taken.machine): \(remark)") }
        }
      }
    } catch { note("the agent did not tell of its syncs: \(error.what)") }
  }
}
