internal import Coffer
internal import CofferFormats
internal import CofferStorage
internal import CofferPlatform
internal import CofferTerminal
internal import FoundationEssentials
internal import SystemPackage

/// The main job on real files; each claim is checked as it is made.
final class Tour {
  static let domain = "tour"

  let home: FilePath
  let places: Places
  let keeps: Bool
  let keys = TourKeys()
  var story = Story()
  // Held until the folder is gone: control-C must not leave the files of a tour behind.
  private var signals = HeldSignals([SIGINT, SIGTERM, SIGHUP])
  private var caught: Int32?

  var keyFile: FilePath { home.appending("tour.key") }

  init(home: FilePath, keeps: Bool) { (self.home, self.keeps, places) = (home, keeps, Places(home: home)) }

  func run() throws {
    try story.say("A tour of Coffer, on real files in \(home)")
    try story.say(keeps ? "They stay there." : "They are removed at the end; coffer tour --home DIR keeps them.")
    let key = try makeVault()
    let first = try Generated.text(length: 40)
    let second = try Generated.text(length: 40)
    try store(first, key)
    try lookAtFiles(first)
    try readFromSecondProcess(first)
    try changeBoth(second, key)
    try flipByte(second)
    try logOut(second, key)
    try story.end(
      keeps ? "The files are still in \(home): coffer status --paths --home \(home)" : "Next: coffer init, and coffer --help.")
  }

  /// Ends the process by the signal that ended the tour, once the files are gone.
  func deliverSignal() { if let caught, caught != SIGINT { signals.deliver(caught) } }

  func step(_ title: String) throws {
    caught = signals.next()
    guard caught == nil else { throw Failure.interrupted }
    try story.step(title)
  }

  private func makeVault() throws -> SecretBytes {
    try step("Create a vault that a key file opens")
    let key = try NewKeyFile.write(to: keyFile.string)
    let vault = try UnlockedVault.create(
      at: places.vault, with: Credentials(keyFile: key.duplicate()), label: "tour", options: places.vaultOptions)
    _ = try vault.lock()
    let file = try places.vault.file()
    try story.say("\(inside(file)): the vault, one SQLite file in which every record is sealed")
    try story.say("\(inside(keyFile)): opens it here; a passphrase could do that too")
    try story.claim(mode(file) == 0o600 && mode(keyFile) == 0o600, "only you can open either file")
    return key
  }

  private func store(_ token: borrowing SecretBytes, _ key: borrowing SecretBytes) throws {
    try step("Store a toggle and a token through one API")
    try story.say("A program declares its keys, and the declaration decides the store:")
    try story.code(TourKeys.source)
    try story.say("From then on there is one way to set a value; a secret in the plain store does not compile:")
    try story.code("try app.set(false, for: keys.notifications)\ntry app.set(Sealed(token), for: keys.token)")
    let sealed = Sealed<String>(guarded: try token.duplicate())
    try withApp(key) { app in
      try app.set(false, for: keys.notifications)
      try app.set("ada", for: keys.account)
      try app.set(sealed, for: keys.token)
    }
  }

  private func lookAtFiles(_ token: borrowing SecretBytes) throws {
    try step("See where each is stored")
    let list = places.propertyList(of: Self.domain)
    try story.claim(ByteSearch.text(of: list).contains("<key>notifications</key>"), "the toggle is readable in \(inside(list))")
    try claimNowhere(token)
  }

  private func readFromSecondProcess(_ token: borrowing SecretBytes) throws {
    try step("Read both from a second process")
    let toggle = try coffer("get", "notifications")
    try story.claim(toggle.status == 0 && toggle.text == "false", "it read the toggle: false, without the key file")
    let secret = try coffer("get", "token", "--key-file", keyFile.string)
    try story.claim(
      secret.status == 0 && secret.output.isEqual(to: token), "it read the token: the same \(token.count) bytes, not shown here")
  }

  private func changeBoth(_ token: borrowing SecretBytes, _ key: borrowing SecretBytes) throws {
    try step("Change both in one transaction: all of it happens, or none")
    try story.code(
      """
      try app.transaction { tx in
        try tx.set(true, for: keys.notifications)
        try tx.set(Sealed(newToken), for: keys.token)
      }
      """)
    let sealed = Sealed<String>(guarded: try token.duplicate())
    try withApp(key) { app in
      try app.transaction { tx in
        try tx.set(true, for: keys.notifications)
        try tx.set(sealed, for: keys.token)
      }
    }
    let toggle = try coffer("get", "notifications")
    let secret = try coffer("get", "token", "--key-file", keyFile.string)
    try story.claim(toggle.text == "true" && secret.output.isEqual(to: token), "a second process sees both new values")
  }

  /// Unlock, open, work, lock. The vault's file is closed afterwards, so that it may be read.
  func withApp(_ key: borrowing SecretBytes, _ work: (StorageRouter) throws -> Void) throws {
    let vault = try VaultStore(service: Self.domain, vault: places.openVault())
    try vault.unlock(with: Credentials(keyFile: key.duplicate()))
    let app = try StorageRouter.open(Self.domain, keys: keys, vault: vault, places: places)
    try work(app)
    try app.synchronize()
    try vault.lock()
  }

  func coffer(_ words: String..., home: FilePath? = nil, isSilent: Bool = false) throws -> CapturedCommand {
    let line = words + ["--domain", Self.domain]
    if !isSilent { try story.command(line.map { $0 == keyFile.string ? inside(keyFile) : $0 }) }
    return try SecondProcess.run(line + ["--quiet", "--home", (home ?? self.home).string])
  }

  func inside(_ path: FilePath) -> String {
    var rest = path
    return rest.removePrefix(home) ? rest.string : path.string
  }

  func mode(_ path: FilePath) -> mode_t? {
    var facts = stat()
    return path.withPlatformString { lstat($0, &facts) } == 0 ? facts.st_mode & 0o7777 : nil
  }
}

// The steps that try to prove the tour wrong: an attack on the vault, and the remains of a logout.
extension Tour {
  func flipByte(_ token: borrowing SecretBytes) throws {
    try step("Flip one byte in a copy of the vault")
    let copy = try VaultCopy(of: places, in: home.appending("copy"))
    defer { do { try FileManager.default.removeItem(atPath: copy.home.string) } catch {} }
    let untouched = try coffer("get", "token", "--key-file", keyFile.string, home: copy.home)
    try story.claim(untouched.status == 0 && untouched.output.isEqual(to: token), "the unchanged copy still gives the token")
    for offset in copy.candidates {
      try copy.flip(offset)
      let answer = try coffer("get", "token", "--key-file", keyFile.string, home: copy.home, isSilent: true)
      guard answer.status != 0 else {
        // The answer does not depend on this byte. A wrong value would end the tour.
        guard answer.output.isEqual(to: token) else { throw Failure.claim("a changed vault gave a changed value") }
        continue
      }
      guard answer.status == ExitStatus.untrusted.rawValue else { continue }
      try story.say("byte \(offset) of \(copy.size) flipped")
      try story.command(["get", "token", "--domain", Self.domain, "--key-file", inside(keyFile)])
      try story.code(answer.notes.trimmedEnd)
      return try story.claim(true, "refused with exit status \(answer.status): \(ExitStatus.untrusted.meaning)")
    }
    throw Failure.claim("no flipped byte was noticed")
  }

  func logOut(_ token: borrowing SecretBytes, _ key: borrowing SecretBytes) throws {
    try step("Log out: values marked endsWithSession() are removed, from both stores at once")
    try withApp(key) { app in
      try app.transaction { tx in
        try tx.remove(keys.token)
        try tx.remove(keys.account)
      }
    }
    let secret = try coffer("get", "token", "--key-file", keyFile.string)
    try story.claim(
      secret.status == ExitStatus.notFound.rawValue, "the token is gone from the vault: exit status \(secret.status)")
    let account = try coffer("get", "account", "--key-file", keyFile.string)
    try story.claim(account.status == ExitStatus.notFound.rawValue, "the account's name is gone from the property list")
    let toggle = try coffer("get", "notifications")
    try story.claim(toggle.text == "true", "the toggle, a preference of yours, stayed")
    try claimNowhere(token)
  }

  func claimNowhere(_ token: borrowing SecretBytes) throws {
    let files = try ByteSearch.files(under: home)
    let found = try ByteSearch.find(token, in: files)
    let bytes = files.reduce(0) { $0 + $1.bytes.count }
    try story.claim(
      found == nil,
      found.map { "the token is in \(inside($0.path)) as \($0.encoding)" }
        ?? "the token is nowhere: \(bytes) bytes of \(files.count) files searched for it as text, hexadecimal, Base64 and UTF-16")
  }
}
