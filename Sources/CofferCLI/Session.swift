internal import Coffer
internal import CofferVault

/// What a command works with.
final class Session {
  let places: Places
  let quiet: Bool
  let json: Bool
  let yes: Bool
  /// What the command line says of opening the vault; nil for a command that opens none.
  let unlocking: UnlockingOptions?
  let input = StandardInput()
  /// Whether a question may be asked at the terminal.
  var mayAsk = true

  init(_ options: some CommandOptions, json: Bool) throws {
    unlocking = options.unlocking
    let options = options.common
    // Through the environment, so that the library and every child process agree on the place.
    if let home = options.home { try ProcessEnvironment.set("COFFER_HOME", home) }
    places = try Places.standard()
    quiet = options.quiet
    self.json = json
    yes = options.yes
    LibraryNotices.bootstrap(quiet: quiet)
  }

  /// Says that an export has nothing to tell of `item`.
  func leavesOut(_ item: VaultItem) {
    note("'\(Printable.line(item.name.description))' has no value and is left out: another program made it so")
  }

  /// Says something that is not an error, unless --quiet.
  func note(_ text: String) {
    if !quiet { Output.message("coffer: note: \(Printable.text(text))") }
  }
}
