internal import Coffer

/// Something that is not as it should be, and what to do about it.
struct Finding: Encodable {
  enum Severity: String, Encodable {
    /// Worth knowing; nothing has to be done.
    case note
    /// A protection is weaker than it could be.
    case warning
    /// A protection is missing, or something does not work.
    case problem
  }

  /// The name of the check that found it.
  let check: String
  let severity: Severity
  let what: String
  let place: String?
  let cure: String

  init(_ check: String, _ severity: Severity, _ what: String, place: String? = nil, cure: String) {
    self.check = check
    self.severity = severity
    self.what = what
    self.place = place
    self.cure = cure
  }

  /// An error of a store, which says all of it already.
  init(_ check: String, _ error: StoreError) {
    self.init(check, .problem, error.what, place: error.place, cure: error.commandCure)
  }
}
