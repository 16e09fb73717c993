package import Coffer
internal import CofferPlatform

/// A program that asks for a secret in its own window.
///
/// The secret comes over a pipe into guarded memory. A program that does not answer in time is ended, with all that it
/// started.
package struct Askpass {
  /// Known by its name.
  package enum Kind {
    /// As in ssh: the question is its only argument, the answer a line of its output.
    case plain
    /// The same with its own arguments: systemd-ask-password(1).
    case systemd
    /// The Assuan protocol of GnuPG.
    case pinentry
  }

  /// A path, or a name to find on PATH.
  package let path: String
  /// Long enough to look a passphrase up; an unattended script ends after it.
  package var patience = Duration.seconds(120)

  package init(_ path: String) { self.path = path }

  package var kind: Kind {
    let name = path.split(separator: "/").last ?? ""
    if name.hasPrefix("pinentry") { return .pinentry }
    return name == "systemd-ask-password" ? .systemd : .plain
  }

  /// The environment's program; nil if there is none, or if the terminal serves.
  ///
  /// Source: ssh(1), `SSH_ASKPASS` and `SSH_ASKPASS_REQUIRE`. `COFFER_ASKPASS` precedes ssh's, and needs no display: the
  /// user means it for this program.
  package static func chosen(hasTerminal: Bool) -> Askpass? {
    let rule = ProcessEnvironment.value("SSH_ASKPASS_REQUIRE")?.lowercased()
    guard rule != "never", !hasTerminal || rule == "prefer" || rule == "force" else { return nil }
    if let own = ProcessEnvironment.value("COFFER_ASKPASS") { return Askpass(own) }
    let hasDisplay = ProcessEnvironment.value("DISPLAY") != nil || ProcessEnvironment.value("WAYLAND_DISPLAY") != nil
    guard hasDisplay || rule == "force" else { return nil }
    return ProcessEnvironment.value("SSH_ASKPASS").map { Askpass($0) }
  }

  /// - Throws: ``Failure/interrupted`` on control-C; status 69 if the program gives no answer; ``Failure/nothingTyped`` for
  ///   an empty one.
  package func secret(_ question: Question) throws -> SecretBytes {
    let answer: SecretBytes
    switch kind {
    case .plain: answer = try line(words: [question.text])
    case .systemd:
      answer = try line(words: ["--id=coffer:passphrase", "--timeout=\(patience.components.seconds)", question.text])
    case .pinentry:
      let program = try AskedProgram(path, [], hasInput: true, patience: patience)
      answer = try Pinentry(program: program, path).secret(question, within: patience)
    }
    guard answer.count > 0 else { throw Failure.nothingTyped }
    return answer
  }

  private func line(words: [String]) throws -> SecretBytes {
    let program = try AskedProgram(path, words, hasInput: false, patience: patience)
    var text = try SecretBytes(zeros: Terminal.longestLine)
    var count = 0
    while case let got = try program.read(into: &text, at: count), got > 0 { count += got }
    let status = try program.end()
    guard status == 0 else { throw Self.noAnswer(path, "it ended with status \(status)") }
    let length = text.withUnsafeBytes { raw in
      raw.prefix(count).firstIndex { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") } ?? count
    }
    return try text.prefix(length)
  }

  static func noAnswer(_ path: String, _ why: String) -> Failure {
    Failure(
      StoreError(
        .locked, "the askpass program gave no passphrase: \(why)", place: path,
        cure: "run coffer unlock at a terminal, or name another program in COFFER_ASKPASS"))
  }
}

extension Question { package var text: String { [remark, reason, subject + ":"].compactMap(\.self).joined(separator: "\n") } }
