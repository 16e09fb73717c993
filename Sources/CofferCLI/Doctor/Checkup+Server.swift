internal import Coffer
internal import CofferPlatform
internal import CofferVault
internal import CofferVaultRows

extension Checkup {
  /// Seconds that two clocks may differ: the drift of a machine without a time service in a month or two.
  private static let clockTolerance = 60.0

  /// The facts of the vault's server: its listeners, its role's rights, the worth of its acknowledgements, and its clock.
  func server(_ check: String) -> [Finding] {
    // The vault's own check reports why it cannot be opened.
    if case .failure(let error) = found, (error as? StoreError)?.kind != .noVault { return [] }
    let report: ServerReport?
    do throws(StoreError) { report = try places.vault.serverReport() } catch { return [Finding(check, error)] }
    guard let report else { return [] }
    let place = places.vault.description
    func finding(_ severity: Finding.Severity, _ what: String, _ cure: String) -> Finding {
      Finding(check, severity, what, place: place, cure: cure)
    }
    var findings = [wire(report, finding), standbys(report, finding)].compactMap(\.self)
    if report.isSuperuser {
      findings.append(
        finding(
          .warning, "the role is a superuser of the server: anyone who obtains it can change and delete everything",
          "a role with only a writer's rights, in the place's user@"))
    } else if report.isReadOnly {
      findings.append(
        finding(
          .warning, "the server makes each transaction of this role read-only, so the vault is not written",
          "default_transaction_read_only off, for the role or the database"))
    } else if !report.mayWrite, report.mayWriteSome {
      findings.append(
        finding(
          .problem, "the role may write to some of the vault's tables and not to all, so the vault is not written",
          "coffer vault grant ROLE=writer by the role that created the vault"))
    } else if !report.mayWrite, case .success = found {
      findings.append(
        finding(
          .note, "the role can only read", "ask the server's administrator for a writer's rights, if you need them"))
    }
    if report.foreignRules > 0 {
      findings.append(
        finding(
          .warning,
          "the vault's tables have triggers, rules or row policies that Coffer did not make (\(report.foreignRules)): they can "
            + "withhold and change rows",
          "\\d coffer_NAME.* in psql, with the name after # in the place; DROP each that is not yours"))
    }
    if report.isOpenToAll {
      findings.append(
        finding(
          .warning, "every role of the database may use tables of the vault",
          "REVOKE ALL ON ALL TABLES IN SCHEMA coffer_NAME FROM PUBLIC, with the name after # in the place"))
    }
    if abs(report.clockAhead) > Self.clockTolerance {
      let side = report.clockAhead > 0 ? "ahead of" : "behind"
      findings.append(
        finding(
          .warning,
          "the server's clock is \(Int(abs(report.clockAhead).rounded())) s \(side) this machine's; one of them is wrong",
          "a time service on both: expiry follows the clock of the machine that reads"))
    }
    return findings
      + report.keptCopies.map { copy in
        let name = copy.description.drop { $0 != "#" }.dropFirst()
        return Finding(
          check, .warning, "a copy of an earlier state: the vault's secrets of that time still open it", place: copy.description,
          cure: "DROP SCHEMA coffer_\(name) CASCADE in psql, once it is not needed")
      }
  }

  private func wire(_ report: ServerReport, _ finding: (Finding.Severity, String, String) -> Finding) -> Finding? {
    guard !report.isThisMachine else { return nil }
    guard report.isEncrypted else {
      return finding(
        .problem, "the connection is not encrypted: an eavesdropper sees a password, sealed bytes, and when items are read",
        "sslmode=verify-full in the place, and TLS on the server")
    }
    guard !report.provesHost else { return nil }
    return finding(
      .warning, "the server's host is not verified: an impostor could receive a password",
      "sslmode=verify-full in the place, with sslrootcert")
  }

  private func standbys(_ report: ServerReport, _ finding: (Finding.Severity, String, String) -> Finding) -> Finding? {
    if report.acknowledgesEarly {
      return finding(
        report.allowsEarly ? .warning : .problem,
        "the server acknowledges commits before they are durable"
          + (report.allowsEarly ? ", and the place allows for that" : ", and the vault is not written"),
        "synchronous_commit and fsync on")
    }
    guard report.standbys > 0, report.awaitedStandbys == 0 else { return nil }
    return finding(
      .warning, "the server does not wait for its standbys: one that takes over may lack commits and is refused as rolled back",
      "synchronous_standby_names in the server's settings")
  }
}
