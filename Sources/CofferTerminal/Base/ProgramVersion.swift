/// The version of this program.
package enum ProgramVersion {
  package static let number = "0.1.0"
  /// The day of that version, for the manual pages.
  package static let date = "2026-11-22"
}
