package enum ProgramVersion {
  package static let number = "0.1.0"
  /// The version's date, for the manual pages.
  package static let date = "2026-11-22"
}
