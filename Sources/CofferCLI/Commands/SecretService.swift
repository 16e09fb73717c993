internal import ArgumentParser
internal import Coffer
internal import CofferPlatform
internal import CofferSecretService
internal import CofferTerminal
internal import Dispatch
internal import Synchronization

struct SecretServiceCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "secret-service",
    abstract: "Keep the secrets of this session's programs in the vault.",
    discussion: """
      Answers as org.freedesktop.secrets on the session bus, which gh, git, python keyring, VS Code, Chromium and hundreds of \
      other programs ask for a keyring. No screen is needed. Their items are items of the vault, of the services \
      secret-service:NAME.
      """,
    subcommands: [
      SecretServiceRunCommand.self, SecretServiceInstallCommand.self, SecretServiceStatusCommand.self,
      SecretServiceShareCommand.self,
    ])
}

struct WaitingOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Ask for the passphrase with this program: an askpass, a pinentry or systemd-ask-password.", valueName: "program"))
  var prompt: String?
  @Option(
    help: ArgumentHelp(
      "How long a program waits for 'coffer unlock', or for an answer, elsewhere; 0s: not at all. [default: 20s]",
      valueName: "time"))
  var patience: Patience?

  var words: [String] { (prompt.map { ["--prompt", $0] } ?? []) + (patience.map { ["--patience", $0.text] } ?? []) }
}

struct Patience: ExpressibleByArgument {
  let text: String, duration: Duration

  init?(argument: String) {
    guard let time = argument == "0s" ? Duration.zero : AgentTime(argument: argument)?.duration else { return nil }
    (text, duration) = (argument, time)
  }
}

struct SecretServiceRunCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "run", abstract: "Answer programs that ask for secrets, in this process.",
    discussion: """
      The agent holds the key, not this process. While the vault is locked, a request waits: for this machine's secret \
      (COFFER_KEY_FILE, COFFER_PASSPHRASE_FILE, $CREDENTIALS_DIRECTORY/coffer.passphrase), then for the program of --prompt, \
      then for 'coffer unlock' at a terminal. After --patience it is refused as locked. Exits with 73 if another provider has \
      the name, and with 75 if the bus goes away.
      """)

  @Flag(help: "Take the name from another provider, if it allows that.") var replace = false
  @OptionGroup var waiting: WaitingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    try context.checkIsNoMirror()
    // Before there are threads, so that only this one takes signals.
    let held = HeldSignals([SIGINT, SIGTERM, SIGHUP])
    let provider = try SecretServiceProvider(settings(context))
    let service = ServiceThread("secret-service") { () throws(StoreError) in try provider.run() }
    _ = held.wait()
    guard let error = service.stop({ provider.stop() }) else { return }
    if error.kind == .closed { return context.note(error.what) }
    guard provider.isReady else { throw error }
    // The service manager starts it again, once there is a bus.
    throw Failure(.busy, kind: "busy", "\(error.facts)", cure: "start it again under a session bus")
  }

  private func settings(_ context: Context) throws -> SecretServiceSettings {
    guard let client = try context.possibleAgent() else {
      throw Failure.usage("the secret service needs the agent", try: "coffer secret-service run")
    }
    let starter = UnlockingStarter(prompt: waiting.prompt, context)
    var settings = SecretServiceSettings(client: client) { (mayAsk) throws(StoreError) in try starter.start(mayAsk: mayAsk) }
    settings.replaces = replace
    settings.hasOwnKey = starter.hasOwnKey
    settings.hasPrompt = starter.hasPrompt
    if let patience = waiting.patience { settings.patience = patience.duration }
    let (place, note) = (context.places.vault, context.notes)
    settings.checkVault = { () throws(StoreError) in try UnlockingStarter.check(place) }
    settings.whyRefused = Self.whyRefused
    settings.ready = { bus in note("answers programs that ask for secrets on \(bus)") }
    return settings
  }

  private static func whyRefused(_ status: Int32) -> String? {
    guard let status = ExitStatus(rawValue: status), [.damaged, .untrusted, .newerVersion].contains(status) else { return nil }
    let meaning = status.meaning.prefix { $0 != ";" }
    return "coffer unlock refuses the vault: \(meaning); run it in a terminal for details"
  }
}

/// A service that runs until a signal stops it, while another thread waits for signals.
final class ServiceThread: Sendable {
  private let failure = Mutex<StoreError?>(nil)
  /// Whether it is to end, so that no thread needs a wake-up.
  private let isWanted = Atomic<Bool>(false)
  private let over = Atomic<Bool>(false)
  private let queue: DispatchQueue

  init(_ name: String, _ body: @escaping @Sendable () throws(StoreError) -> Void) {
    queue = DispatchQueue(label: "coffer.\(name).run")
    queue.async {
      do throws(StoreError) { try body() } catch { self.failure.withLock { $0 = error } }
      self.over.store(true, ordering: .releasing)
      // Wakes the thread that waits for signals.
      if !self.isWanted.load(ordering: .acquiring) { kill(getpid(), SIGTERM) }
    }
  }

  var isOver: Bool { over.load(ordering: .acquiring) }

  /// Ends it by `body`, and returns its failure.
  func stop(_ body: () -> Void) -> StoreError? {
    isWanted.store(true, ordering: .releasing)
    body()
    queue.sync {}
    return failure.withLock { $0 }
  }
}

/// Starts `coffer unlock`, or another command that asks a person, for programs that ask: it has all the ways to open the
/// vault, and the service never sees a key.
struct UnlockingStarter: Sendable {
  private let prompt: String?
  private let places: [String]

  /// - Parameter vault: another vault than the context's.
  init(prompt: String?, vault: VaultPlace? = nil, _ context: Context) {
    self.prompt = prompt
    let named = AgentPlaces.variables(context)
    places = vault.map { vault in named.filter { !$0.hasPrefix("COFFER_VAULT=") } + ["COFFER_VAULT=\(vault)"] } ?? named
  }

  var hasPrompt: Bool { prompt != nil || ProcessEnvironment.value("COFFER_ASKPASS") != nil }

  private static let keys = ["COFFER_KEY_FILE", "COFFER_PASSPHRASE_FILE", "COFFER_IDENTITY"]
  /// Besides the variables for places and unlocking, those that a prompt's window needs.
  private static let inherited =
    keys + [
      "HOME", "PATH", "LANG", "TMPDIR", "TERM", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR",
      "CREDENTIALS_DIRECTORY", "COFFER_EXPECT_VAULT", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS",
    ]

  var hasOwnKey: Bool {
    if Self.keys.contains(where: { ProcessEnvironment.value($0) != nil }) { return true }
    guard let folder = ProcessEnvironment.value("CREDENTIALS_DIRECTORY") else { return false }
    return FileFacts.exists(FilePath(folder).appending("coffer.passphrase"))
  }

  /// Throws ``/CofferPlatform/StoreError/Kind/noVault`` if there is nothing to unlock.
  static func check(_ place: VaultPlace) throws(StoreError) {
    guard let file = place.path, !FileFacts.exists(file) else { return }
    throw StoreError(.noVault, "there is no vault", place: file.string, cure: "coffer init creates one")
  }

  /// In its own session, without a terminal.
  func start(_ words: [String] = ["unlock"], mayAsk: Bool) throws(StoreError) -> Int32 {
    var environment = ProcessEnvironment.entries(Self.inherited) + places.map { ByteWord($0) }
    let program = prompt ?? ProcessEnvironment.value("COFFER_ASKPASS") ?? ""
    environment.append(ByteWord("COFFER_ASKPASS=\(mayAsk ? program : "")"))
    environment.append(ByteWord("SSH_ASKPASS_REQUIRE=\(mayAsk ? "force" : "never")"))
    var child = SecondProcess.child(words + ["--quiet"], environment, [0: .null, 1: .null])
    child.hasOwnSession = true
    return try child.start { StoreError(errno: $0, "start coffer \(words[0])", place: FilePath(SecondProcess.executable)) }
  }
}
