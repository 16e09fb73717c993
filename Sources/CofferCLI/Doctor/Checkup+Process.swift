internal import Coffer
internal import CofferAgent
internal import CofferDefaults
internal import CofferMemory
internal import CofferTerminal
internal import CofferPlatform
internal import SystemPackage

extension Checkup {
  /// Bytes of memory that a command wants to lock: a value of 2 MiB twice while it is sealed, keys, and room to read.
  private static let wantedLock = UInt64(8 << 20)

  /// Whether secrets can be kept out of swap and of core dumps.
  func memory(_ check: String) -> [Finding] {
    var findings: [Finding] = []
    let limit = coffer_lock_limit()
    let report = SecretMemory.report
    if report.unlockedBytes > 0 || (limit < Self.wantedLock && geteuid() != 0) {
      findings.append(
        Finding(
          check, .warning, "only \(limit) bytes of memory may be locked: further secrets may reach swap",
          cure: "raise the limit: 'ulimit -l 8192', LimitMEMLOCK=8M for a service, or memlock in limits.conf(5)"))
    }
    if coffer_core_limit() != 0 {
      findings.append(Finding(check, .warning, "core dumps could not be disabled", cure: "ulimit -c 0"))
    }
    return findings
  }

  /// Secrets in the environment, and the modes of the files that it names.
  func environment(_ check: String) -> [Finding] {
    func exposed(_ name: String, _ cure: String) -> Finding {
      Finding(check, .warning, "\(name) is in the environment, where every program started from there can read it", cure: cure)
    }
    var findings: [Finding] = []
    do {
      if try EnvironmentPassphrase.use() != nil {
        findings.append(exposed("COFFER_PASSPHRASE", "COFFER_PASSPHRASE_FILE with a file of mode 0600, or coffer unlock"))
      }
    } catch { context.note("could not check whether COFFER_PASSPHRASE is set: out of memory") }
    if file == nil, ProcessEnvironment.value("PGPASSWORD") != nil {
      findings.append(exposed("PGPASSWORD", "the password in ~/.pgpass, with mode 0600"))
    }
    return findings + ["COFFER_PASSPHRASE_FILE", "COFFER_KEY_FILE", "COFFER_IDENTITY"].compactMap { look(check, atFileOf: $0) }
  }

  private func look(_ check: String, atFileOf name: String) -> Finding? {
    guard let path = ProcessEnvironment.value(name), path != "-" else { return nil }
    func problem(_ what: String, _ cure: String) -> Finding {
      Finding(check, .problem, "the file of \(name) \(what)", place: path, cure: cure)
    }
    var facts = stat()
    guard stat(path, &facts) == 0 else { return problem("is missing", "correct \(name), or unset it") }
    let isRegular = facts.st_mode & S_IFMT == S_IFREG
    if isRegular, facts.st_mode & 0o077 != 0 { return problem("can be read by other users", "chmod 600 \(path)") }
    if facts.st_uid != geteuid(), facts.st_uid != 0 { return problem("belongs to user \(facts.st_uid)", "use one of your own") }
    guard name == "COFFER_IDENTITY", isRegular else { return nil }
    do throws(StoreError) { _ = try Credentials.identity(at: FilePath(path)) } catch { return Finding(check, error) }
    return nil
  }

  /// Checks that property lists can be read, and that no other user can write them.
  func preferences(_ check: String) -> [Finding] {
    do throws(StoreError) {
      return try DefaultsDomain.list(in: places.defaults).compactMap { look(check, at: $0) }
    } catch { return [Finding(check, error)] }
  }

  private func look(_ check: String, at domain: DefaultsDomain) -> Finding? {
    var facts = stat()
    let isThere = domain.file.withPlatformString { stat($0, &facts) } == 0
    guard isThere, facts.st_mode & 0o022 != 0 else {
      do throws(StoreError) { _ = try context.domainAsItLies(domain.name) } catch { return Finding(check, error) }
      return nil
    }
    return Finding(
      check, .problem, "other users can write the preferences", place: domain.file.string,
      cure: "chmod go-w '\(domain.file)'")
  }
}

extension Checkup {
  /// Checks that a running agent answers, holds this vault, and can keep its memory from swap.
  func agent(_ check: String) -> [Finding] {
    let status: AgentStatus?
    do throws(StoreError) { status = try context.agentStatus() } catch { return [Finding(check, error)] }
    guard let status else { return [] }
    var findings: [Finding] = []
    if let held = status.unlocked {
      if let stands = existingVault?.id, stands != held {
        findings.append(
          Finding(
            check, .problem, "the agent holds vault \(held), but vault \(stands) is here", place: places.vault.description,
            cure: "coffer lock; find out who put another vault there"))
      }
    } else {
      findings.append(
        Finding(
          check, .note, "the agent is locked: \(status.whyLocked)", place: status.vault.description, cure: "coffer unlock"))
    }
    if status.unlockedMemory > 0 {
      findings.append(
        Finding(
          check, .warning, "\(status.unlockedMemory) bytes of the agent's memory may reach swap",
          cure: "'ulimit -l 8192' where it is started, or LimitMEMLOCK=8M in its unit; then coffer agent stop, coffer unlock"))
    }
    return findings
  }

  /// SQLite's side files may hold commits that are incomplete without their vault. A new vault beside them must not take
  /// them for its own.
  func sideFiles(_ check: String) -> [Finding] {
    guard let file, !FileFacts.exists(file) else { return [] }
    return ["-wal", "-shm", "-journal"].map { FilePath(file.string + $0) }.filter(FileFacts.exists).map { path in
      Finding(
        check, .problem, "a side file of the vault is there without the vault", place: path.string,
        cure: "put the vault back beside it, or restore a backup; then mv '\(path)' elsewhere")
    }
  }
}
