/// Guarded memory could not be had.
public enum SecretMemoryError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The system refused `bytes` more bytes of guarded memory.
  case exhausted(bytes: Int)

  /// What was refused, and what to look at.
  public var description: String {
    switch self {
    case .exhausted(let bytes):
      "no guarded memory for \(bytes) bytes: raise the process's address-space limit (ulimit -v) or free memory"
    }
  }
}
