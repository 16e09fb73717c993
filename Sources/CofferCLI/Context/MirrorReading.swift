internal import Coffer
internal import CofferPlatform
internal import CofferTerminal
internal import CofferVault

/// A mirror that is read in the place of its vault. The command goes to nothing else: to read, it asks neither the server nor the
/// agent, and what would write finds a place that takes no writes.
final class MirrorReading {
  /// Whether a command reads a mirror.
  enum Choice {
    /// It has nothing to do with the vault, or with the vault itself alone.
    case no
    /// As its option says, else the environment.
    case asSaid(String?)
  }

  let place: VaultPlace
  /// The vault that the command line or the environment names beside it; nil where neither does.
  private let named: VaultPlace?
  private var isTold = false

  /// Nil where no mirror is to be read.
  ///
  /// - Parameter vault: the vault that the command line or the environment names; nil if neither does.
  init?(_ choice: Choice, beside vault: VaultPlace?) throws {
    guard case .asSaid(let option) = choice else { return nil }
    if option == "" { throw Failure.usage("the path of the mirror is empty", try: "the file that coffer vault mirror made") }
    guard let path = option ?? ProcessEnvironment.value("COFFER_OFFLINE") else { return nil }
    guard VaultPlace(path).path != nil else {
      throw Failure.usage("a mirror is a file, and no server", try: "the file that coffer vault mirror made")
    }
    place = try VaultPlace.mirror(FilePath(path)).absolute()
    named = vault
  }

  /// Checks `vault`, the mirror, as far as that can be done without a key: that it is the one that was refreshed last, and of the
  /// vault that is known at the place beside it. Then says how old it is, once.
  func check(_ vault: LockedVault, _ context: Context) throws {
    try vault.checkAge()
    if let named, let pins = vault.options.pins, let known = try named.expected(by: pins).first(where: { $0 != vault.id }) {
      throw StoreError(
        .replaced, "the mirror is of vault \(vault.id), and \(known) is the vault at \(named)", place: place.description,
        cure: "give the mirror of that vault; or leave --vault and COFFER_VAULT out")
    }
    guard !isTold else { return }
    isTold = true
    let age = try vault.pinMemory().refreshed.map { LocalTime().ago($0) } ?? "at a time that nobody knows"
    context.note("offline: reading the mirror \(place), refreshed \(age)")
  }
}
