internal import Coffer

extension Checkup {
  /// An agent, where one runs, answers, keeps the vault that stands here, and can keep its memory from swap.
  func agent(_ check: String) -> [Finding] {
    let status: AgentStatus?
    do throws(StoreError) { status = try session.agentStatus() } catch { return [Finding(check, error)] }
    guard let status else { return [] }
    var findings: [Finding] = []
    if status.vault != places.vault {
      findings.append(
        Finding(
          check, .warning, "the agent keeps another vault than \(places.vault)", place: status.vault.string,
          cure: "coffer agent stop, then coffer unlock"))
    } else if let held = status.unlocked {
      if let stands = standing(), stands != held {
        findings.append(
          Finding(
            check, .problem, "the agent holds vault \(held), but vault \(stands) stands here", place: places.vault.string,
            cure: "coffer lock; find out who put another vault there"))
      }
    } else {
      findings.append(
        Finding(
          check, .note, "the agent is locked: \(status.whyLocked)", place: status.vault.string, cure: "coffer unlock"))
    }
    if status.unlockedMemory > 0 {
      findings.append(
        Finding(
          check, .warning, "\(status.unlockedMemory) bytes of the agent's memory may reach swap",
          cure: "'ulimit -l 8192' where it is started, or LimitMEMLOCK=8M in its unit; then coffer agent stop, coffer unlock"))
    }
    return findings
  }

  private func standing() -> VaultID? {
    do throws(StoreError) { return try places.openVault().id } catch { return nil }  // Said by the check of the vault.
  }

  /// Side files of SQLite without their vault: what they hold may be commits that nothing can be put together from any more, and a
  /// vault that comes to stand beside them must not take them for its own.
  func sideFiles(_ check: String) -> [Finding] {
    guard !FileFacts.exists(places.vault) else { return [] }
    return ["-wal", "-shm", "-journal"].map { FilePath(places.vault.string + $0) }.filter(FileFacts.exists).map { path in
      Finding(
        check, .problem, "a side file of the vault stands there without the vault", place: path.string,
        cure: "put the vault back beside it, or restore a backup; then mv '\(path)' elsewhere")
    }
  }
}
