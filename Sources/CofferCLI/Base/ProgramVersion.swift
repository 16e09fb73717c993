/// The version of this program.
enum ProgramVersion {
  static let number = "0.1.0"
  /// The day of that version, for the manual pages.
  static let date = "2026-11-22"
}
