internal import Coffer
internal import CofferPlatform
internal import CofferTerminal
internal import CofferVault

enum Questions {
  case anywhere
  /// By a program of the environment alone: nobody sits at the terminal.
  case notAtTerminal
  case nowhere
}

/// The places, options and input of one run of a command.
final class Context {
  var places: Places
  /// The places for a command that is started from here.
  private(set) var variables: [String: String]
  let quiet: Bool
  let json: Bool
  let yes: Bool
  /// Whether an option of the command names it.
  let isVaultNamed: Bool
  /// The given vault, if no vault has this name: a mistyped name, or a file here.
  private(set) var unknownName: String?
  /// Nil for a command that opens no vault.
  let unlocking: UnlockingOptions?
  let input = StandardInput()
  var questions = Questions.anywhere
  /// The caller and its purpose in a sentence; nil for the person at the terminal.
  var reason: String?

  var isMirrorAgeTold = false
  var isNewsShown = false
  /// Whether a vault opened in this process withholds keys that programs only use, as the agent does.
  var withholdsKeys = false

  /// - Parameters:
  ///   - home: the folder of all places; nil leaves it to the environment.
  ///   - vault: its place or name; nil leaves it to the environment.
  init(
    home: String?, vault: String?, quiet: Bool, json: Bool = false, yes: Bool = false, unlocking: UnlockingOptions? = nil
  ) throws {
    isVaultNamed = vault != nil
    var named = ["COFFER_HOME": home, "COFFER_VAULT": vault].compactMapValues(\.self)
    for name in ["COFFER_HOME", "COFFER_VAULT"] where named[name] == nil { named[name] = ProcessEnvironment.value(name) }
    variables = named
    if let home = named["COFFER_HOME"] { try GivenPath.checkIsOnNoServer(home, "folder") }
    // For all commands. An empty one would be ignored, and the command would go to another vault.
    if let vault = named["COFFER_VAULT"] { _ = try VaultPlace.given(vault) }
    places = try Self.places(named)
    (self.quiet, self.json, self.yes, self.unlocking) = (quiet, json, yes, unlocking)
    if let name = named["COFFER_VAULT"], VaultNames.isName(name) { try resolve(name) }
    if readsMirror { variables["COFFER_VAULT"] = places.vault.text }
  }

  /// The same command on the vault that has `name`.
  func at(_ name: String) throws -> Context {
    let other = try Context(
      home: variables["COFFER_HOME"], vault: name, quiet: quiet, json: json, yes: yes, unlocking: unlocking)
    (other.questions, other.reason) = (questions, reason)
    return other
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
    // A program that renews logins or settles transactions needs the vault itself.
    if let vault = variables["COFFER_VAULT"], vault.hasPrefix(VaultPlace.mirrorPrefix) {
      places.vault = try VaultPlace.given(vault).absolute()
    }
    return places
  }

  var readsMirror: Bool { places.vault.isMirror }
  /// Whether a command goes on without the vault: nobody named it or expects it, and this machine never saw it.
  func goesOn(without error: StoreError) -> Bool {
    let isExpected = places.vaultOptions.expected != nil || !places.vaultOptions.invitations.isEmpty
    guard !isVaultNamed, !readsMirror, places.vault.url == nil, !isExpected else { return false }
    return error.kind == .noVault && error.remedy != .returnVault
  }

  /// Whether a person reads the plan first, and can answer.
  var showsPlans: Bool { !json && !quiet && questions == .anywhere && isatty(STDERR_FILENO) == 1 }

  /// Asks whether the command shall go on, where a person can answer.
  func agrees(_ question: String) throws -> Bool {
    guard !yes, let terminal = Terminal() else { return true }
    return try terminal.confirm(question)
  }

  /// - Throws: `.refused` for a no: nothing was `done`.
  func checkAgreed(_ question: String, _ done: String, cure: String = "y at the question, or --yes") throws {
    guard try agrees(question) else {
      throw Failure(StoreError(.refused, "nothing was \(done)", cure: cure))
    }
  }

  /// Asks first, unless standard input is a program's.
  func checkRemoval(_ question: String) throws {
    guard try isatty(STDIN_FILENO) != 1 || agrees(question) else {
      throw Failure.usage("nothing was deleted", try: "--yes, or y at the question")
    }
  }

  /// Whether a person at the terminal gets the answer.
  var offersMore: Bool {
    !quiet && !json && !yes && Display.output.isTerminal && Display.errors.isTerminal && isatty(STDIN_FILENO) == 1
  }

  func leavesOut(_ item: VaultItem) {
    let isKey = item.metadata.isWithheld
    let why = isKey ? "is a withheld key and is left out" : "has no value and is left out; another program wrote it"
    note("'\(Printable.line(item.name.description))' \(why)")
  }

  /// - Throws: `.readOnly` if a mirror stands for the vault.
  func checkIsNoMirror() throws(StoreError) { try places.vault.checkIsNoMirror() }

  /// Reports a success with a check mark, unless --quiet or --json.
  ///
  /// - Parameter note: the text without a terminal; nothing, unless given.
  func done(_ text: String, elsewhere note: String? = nil) {
    guard Display.errors.isTerminal else {
      if let note { self.note(note) }
      return
    }
    guard !quiet, !json else { return }
    Output.message("\(Style.green.text(Sign.done.text(.errors), .errors)) \(Printable.line(text))")
  }

  /// The same with and without a terminal.
  func told(_ text: String) { done(text, elsewhere: text) }

  func note(_ text: String) { notes(text) }

  /// Writes a note, on any thread; nothing with --quiet.
  var notes: @Sendable (String) -> Void {
    let isQuiet = quiet
    return { text in if !isQuiet { Output.message("coffer: note: \(Printable.line(text))") } }
  }
}

extension VaultPlace {
  static func given(_ text: String) throws -> VaultPlace {
    guard !text.isEmpty else { throw Failure.usage("the place of the vault is empty", try: "the path of the vault") }
    let place = VaultPlace(given: text)
    let prefix = text.hasPrefix(VaultPlace.mirrorPrefix) ? VaultPlace.mirrorPrefix : ""
    let path = String(text.dropFirst(prefix.count))
    let isURL = VaultPlace(path).url != nil
    // A URL may hold a password, and is not repeated.
    guard prefix.isEmpty || !(path.isEmpty || isURL) else {
      throw Failure.usage("a mirror is a file", try: "mirror:FILE, with a file that coffer vault mirror FILE created")
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

  /// Checked before anyone is asked for its secrets.
  ///
  /// - Throws: `.alreadyExists` for a file; `.denied` for a folder or a link; the error of a server that cannot say.
  func checkIsFree() throws(StoreError) {
    let found = try path.flatMap { (path) throws(StoreError) in try FileStatus(ofLinkAt: path) }
    if path != nil, found == nil { return }
    var what = "there is already a vault"
    var cure = path == nil ? "use it, or another name after the #" : "use it, or another folder with --home DIR"
    do throws(StoreError) { _ = try LockedVault.open(self, options: .withoutPins) } catch {
      guard error.kind != .noVault else { return }
      guard let found else { throw error }
      switch error.kind {
      case .notAVault: (what, cure) = (error.what, error.cure)
      case .denied where !found.isRegular: throw error
      // Such as for its mode: it may be anything.
      case .denied: (what, cure) = ("there is already a file", "use it if it is a vault; otherwise move it away")
      default: break
      }
    }
    throw StoreError(.alreadyExists, what, place: description, cure: cure)
  }
}

extension Context {
  /// Checks the folder of a new vault before anyone is asked for its secrets. A named one may be a home, which nobody should be
  /// told to close.
  func checkNewFolder() throws {
    guard let path = places.vault.path else { return }
    let folder = path.removingLastComponent()
    do throws(StoreError) { _ = try TrustedPath.privateFolder(TrustedPath.throughOwnLink(folder)) } catch {
      guard isVaultNamed, error.cure.hasPrefix("run chmod 700") else { throw error }
      throw StoreError(
        .denied, error.what, place: error.place,
        cure: "choose a folder that only you can open: mkdir -m 700 ~/vaults, and --vault ~/vaults/vault.sqlite")
    }
  }

  /// Shows the progress of `body` until its end; nothing with --quiet, or if a program gets the answer.
  func showing<Result: ~Copyable, Failure>(
    _ work: Progress.Work, _ body: (Progress) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let progress = Progress(quiet: quiet || json, work)
    defer { progress.clear() }
    return try body(progress)
  }

  /// Shows nothing with --quiet, or if a program gets the answer.
  func spin(_ text: String) { Spinner.show(text, quiet: quiet || json) }
}
