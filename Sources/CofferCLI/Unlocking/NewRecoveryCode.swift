internal import Coffer

/// A recovery code on its one way out: to standard output.
enum NewRecoveryCode {
  static func show(_ code: borrowing SecretBytes, _ session: Session) throws {
    session.note("this recovery code opens the vault; write it down, it is shown once:")
    try Output.write(code)
    try Output.write("\n")
  }
}
