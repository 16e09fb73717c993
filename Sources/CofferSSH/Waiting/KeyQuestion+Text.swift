package import CofferAgent
internal import CofferMemory

extension KeyQuestion {
  /// The question in a sentence. Its parts come from other programs and from servers: invisible characters are left out.
  package var sentence: String {
    let who = program.isEmpty ? "a program" : process == 0 ? program : "\(program) (\(process))"
    let what =
      switch purpose.split(separator: " ", maxSplits: 1).first {
      case "sign"?: "wants to sign with '\(key)' for \(purpose.dropFirst("sign ".count))"
      case "login"?: "wants to log in with '\(key)'" + (way.isEmpty ? "" : " at \(way)")
      case "unwrap"?: "wants to decrypt with '\(key)'"
      default: "wants to use '\(key)' for \(purpose)"
      }
    let text = "\(who) \(what)."
    let visible = text.unicodeScalars.filter { scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
      default: true
      }
    }
    return String(String.UnicodeScalarView(visible))
  }

  /// The answers that a line may give.
  package var choices: String { needsPassphrase ? "The vault's passphrase" : KeyApproval.Scope.choices }

  /// The approval that a typed line stands for.
  package func approval(_ line: consuming SecretBytes) -> KeyApproval {
    guard line.count > 0 else { return .no(ticket) }
    guard !needsPassphrase else { return .yes(ticket, .once, passphrase: SecretForm(line)) }
    let scope = KeyApproval.Scope(typed: line.withUnsafeBytes { String(decoding: $0, as: UTF8.self) })
    return scope.map { .yes(ticket, $0, passphrase: nil) } ?? .no(ticket)
  }
}

extension KeyApproval.Scope {
  package static let choices = "[o]nce, this [j]ob, 10 [m]inutes, [N]o"
  /// Ten minutes, for one answer to a whole rebase.
  package static let shortTime: UInt32 = 600

  /// That of one of ``choices``; nil for a no.
  package init?(typed line: String) {
    switch line.lowercased() {
    case "o", "once", "y", "yes": self = .once
    case "j", "job": self = .job
    case "m", "10m", "minutes": self = .time(seconds: Self.shortTime)
    default: return nil
    }
  }
}
