internal import Coffer
internal import CofferFormats
internal import CofferPlatform
internal import CofferTerminal
internal import CofferVault

/// Where a person may be asked.
enum Questions {
  case anywhere
  /// By a program of the environment alone: nobody sits at the terminal.
  case notAtTerminal
  case nowhere
}

/// The places, options and input that one run of a command works with.
final class Context {
  var places: Places
  /// The variables that name these places to a command that is started from here.
  private(set) var variables: [String: String]
  let quiet: Bool
  let json: Bool
  let yes: Bool
  /// Whether an option of the command names the vault.
  let isVaultNamed: Bool
  /// The value of the command or the environment in place of a path to the vault, if nobody gave a vault this name: a mistyped
  /// name, or a file here.
  private(set) var unknownName: String?
  /// The options for unlocking that were given; nil for a command that opens no vault.
  let unlocking: UnlockingOptions?
  let input = StandardInput()
  /// Where a person may be asked for a secret.
  var questions = Questions.anywhere
  /// The caller and its purpose in a sentence, if it is not the person at the terminal.
  var reason: String?

  /// Whether the age of the mirror was reported.
  var isMirrorAgeTold = false

  /// - Parameters:
  ///   - home: the folder of all places; nil leaves it to the environment.
  ///   - vault: the place of the vault, or its name; nil leaves it to the environment.
  init(
    home: String?, vault: String?, quiet: Bool, json: Bool = false, yes: Bool = false, unlocking: UnlockingOptions? = nil
  ) throws {
    isVaultNamed = vault != nil
    var named = ["COFFER_HOME": home, "COFFER_VAULT": vault].compactMapValues(\.self)
    for name in ["COFFER_HOME", "COFFER_VAULT"] where named[name] == nil { named[name] = ProcessEnvironment.value(name) }
    variables = named
    if let home = named["COFFER_HOME"] { try GivenPath.checkIsOnNoServer(home, "folder") }
    // Here for all commands. Empty as an option it would be as good as none, and the command would go to another vault.
    if let vault = named["COFFER_VAULT"] { _ = try VaultPlace.given(vault) }
    places = try Self.places(named)
    self.quiet = quiet
    self.json = json
    self.yes = yes
    self.unlocking = unlocking
    LibraryNotices.bootstrap(quiet: quiet)
    if let name = named["COFFER_VAULT"], VaultNames.isName(name) { try resolve(name) }
    if readsMirror { variables["COFFER_VAULT"] = places.vault.text }
  }

  /// Takes `name` for the place that has it.
  private func resolve(_ name: String) throws {
    guard let path = try VaultNames(context: self).path(of: name) else {
      unknownName = name
      return
    }
    variables["COFFER_VAULT"] = path
    places = try Self.places(variables)
  }

  private static func places(_ variables: [String: String]) throws -> Places {
    var places = try Places.standard { (name) throws(StoreError) in
      if let value = variables[name] { return value }
      return try Places.environment(name)
    }
    // Only here: a program that renews logins or settles transactions needs the vault itself.
    if let vault = variables["COFFER_VAULT"], vault.hasPrefix(VaultPlace.mirrorPrefix) {
      places.vault = try VaultPlace.given(vault).absolute()
    }
    return places
  }

  var readsMirror: Bool { places.vault.isMirror }
  /// Whether a missing vault is an error even where a command goes on without one.
  var mustHaveVault: Bool { isVaultNamed || readsMirror }

  /// Whether a person reads the plan before it is carried out, and can answer.
  var showsPlans: Bool { !json && !quiet && questions == .anywhere && isatty(STDERR_FILENO) == 1 }

  /// Asks whether the command shall go on, where a person can answer.
  func agrees(_ question: String) throws -> Bool {
    guard !yes, let terminal = Terminal() else { return true }
    return try terminal.confirm(question)
  }

  /// Whether a person sits at the terminal that gets the answer, and may be offered more than was asked for.
  var offersMore: Bool {
    !quiet && !json && !yes && Display.output.isTerminal && Display.errors.isTerminal && isatty(STDIN_FILENO) == 1
  }

  /// Says that an export has nothing to tell of `item`.
  func leavesOut(_ item: VaultItem) {
    note("'\(Printable.line(item.name.description))' has no value and is left out: another program made it so")
  }

  /// - Throws: `.readOnly` if a mirror stands for the vault: this command needs the vault itself.
  func checkIsNoMirror() throws(StoreError) { try places.vault.checkIsNoMirror() }

  /// Reports a success, unless --quiet or --json: at a terminal with a check mark.
  ///
  /// - Parameter note: the text elsewhere; nothing, unless given.
  func done(_ text: String, elsewhere note: String? = nil) {
    guard Display.errors.isTerminal else {
      if let note { self.note(note) }
      return
    }
    guard !quiet, !json else { return }
    Output.message("\(Style.green.text(Sign.done.text(.errors), .errors)) \(Printable.line(text))")
  }

  /// Says something that is not an error, unless --quiet.
  func note(_ text: String) {
    if !quiet { Output.message("coffer: note: \(Printable.line(text))") }
  }
}

extension VaultPlace {
  /// The place that the command line names.
  static func given(_ text: String) throws -> VaultPlace {
    guard !text.isEmpty else { throw Failure.usage("the place of the vault is empty", try: "the path of the vault") }
    let place = VaultPlace(given: text)
    let prefix = text.hasPrefix(VaultPlace.mirrorPrefix) ? VaultPlace.mirrorPrefix : ""
    let path = String(text.dropFirst(prefix.count))
    let isURL = VaultPlace(path).url != nil
    // A URL may hold a password, and is not repeated.
    guard prefix.isEmpty || !(path.isEmpty || isURL) else {
      throw Failure.usage("a mirror is a file", try: "mirror:FILE, as coffer vault mirror FILE made it")
    }
    guard !path.hasPrefix("~/") else {
      throw Failure.usage("the shell did not expand the ~ of the vault's place", try: "\(prefix)$HOME\(path.dropFirst())")
    }
    if !isURL { try GivenPath.checkNamesNoFolder(path) }
    try place.check()
    return place
  }

  /// Whether surely no vault is there: what cannot be looked at may be one.
  var isFree: Bool {
    if let path { return FileFacts.isAbsent(path) }
    do throws(StoreError) { _ = try LockedVault.open(self, options: .withoutPins) } catch { return error.kind == .noVault }
    return false
  }

  /// Checks that a vault can be made here, before somebody is asked for what shall open it.
  ///
  /// - Throws: `.alreadyExists` for a file; `.denied` for a folder or a link; of a server what keeps it from saying so.
  func checkIsFree() throws(StoreError) {
    let found = try path.flatMap { (path) throws(StoreError) in try FileStatus(ofLinkAt: path) }
    if path != nil, found == nil { return }
    var what = "there is a vault already"
    var cure = path == nil ? "use it, or another name after the #" : "use it, or another folder with --home DIR"
    do throws(StoreError) { _ = try LockedVault.open(self, options: .withoutPins) } catch {
      guard error.kind != .noVault else { return }
      guard let found else { throw error }
      switch error.kind {
      case .notAVault: (what, cure) = (error.what, error.cure)
      case .denied where !found.isRegular: throw error
      // Such as for its mode: it may be anything.
      case .denied: (what, cure) = ("there is a file already", "use it, if it is a vault; else move it away")
      default: break
      }
    }
    throw StoreError(.alreadyExists, what, place: description, cure: cure)
  }
}

extension Context {
  /// Tells how far `work` is, unless the user asked for quiet or a program gets the answer.
  func progress(json: Bool, _ work: Progress.Work) -> Progress { Progress(quiet: quiet || json, work) }

  /// Shows that `text` takes its time, unless the user asked for quiet or a program gets the answer.
  func spin(_ text: String) { Spinner.show(text, quiet: quiet || json) }
}
