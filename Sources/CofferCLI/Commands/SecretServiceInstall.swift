internal import ArgumentParser
internal import Coffer
internal import CofferPlatform
internal import CofferSecretService
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault
internal import SystemPackage

struct SecretServiceInstallCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "install", abstract: "Have the bus start the service when a program asks for a secret.",
    discussion: """
      Writes a D-Bus file and a systemd unit, and a file for xdg-desktop-portal if that is installed, all in your own folders. \
      The service runs with the options given here.
      """)

  @Flag(help: "Print the files instead.") var print = false
  @Flag(help: "Replace files that differ.") var replace = false
  @Flag(help: "Remove these files. Items stay in the vault; a running service keeps running.") var remove = false
  @OptionGroup var waiting: WaitingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    guard !remove || !(print || replace) else { throw ValidationError("--remove excludes --print and --replace") }
  }

  func perform(_ context: Context) throws {
    if remove { return try ServiceFile.remove(ServiceFiles(context).files([]), with: ["coffer", "secret"], context) }
    try context.checkIsNoMirror()
    let files = try ServiceFiles(context).files(waiting.words)
    if try ServiceFile.put(files, printing: print, replacing: replace, context) { tell(context) }
  }

  private func tell(_ context: Context) {
    do throws(StoreError) {
      try SecretServiceProvider.reloadBus()
      context.note("the session bus starts the service when a program asks")
    } catch {
      context.note("the session bus does not start it: run programs under dbus-run-session, or log in again (\(error.what))")
    }
    guard let vault = context.places.vault.path, !FileFacts.exists(vault) else { return }
    context.note("there is no vault yet: coffer init creates one")
  }
}

/// The files that make the service known to D-Bus, systemd and xdg-desktop-portal.
///
/// Source: D-Bus Specification, "Message Bus Starting Services".
struct ServiceFiles {
  private let context: Context
  private let folders: UserFolders

  init(_ context: Context) throws {
    self.context = context
    folders = try UserFolders()
  }

  static let unit = "coffer-secret-service.service"

  private func activation(of name: String) -> FilePath {
    folders.data.appending("dbus-1").appending("services").appending(name + ".service")
  }
  private static let portals = FilePath("/usr/share/xdg-desktop-portal")

  /// The program that the bus starts on demand; nil if nothing is installed.
  func installed() throws -> (program: String, isThere: Bool)? {
    guard let text = try ServiceFile(activation(of: SecretServiceProvider.busName), "").current(),
      let value = text.split(separator: "\n").lazy.compactMap({ String($0).rest(after: "Exec=") }).first,
      case let words = ActivationCommand.words(value),
      let command = words.firstRange(of: ["secret-service", "run"]), command.lowerBound > words.startIndex
    else { return nil }
    let program = words[command.lowerBound - 1]
    return (program, FileFacts.exists(FilePath(program)))
  }

  /// - Parameter arguments: the options of `run`.
  func files(_ arguments: [String]) throws -> [ServiceFile] {
    let words = [try SecondProcess.path(), "secret-service", "run", "--quiet"] + arguments
    let variables = try AgentPlaces.allVariables(context)
    // D-Bus has no line for variables.
    let command = ActivationCommand.text(variables.isEmpty ? words : ["/usr/bin/env"] + variables + words)
    // One process has both names: the bus starts it for the first one requested.
    var files = [SecretServiceProvider.busName, SecretServiceProvider.portalName].map { name in
      ServiceFile(
        activation(of: name),
        """
        [D-BUS Service]
        Name=\(name)
        Exec=\(command)
        SystemdService=\(Self.unit)

        """)
    }
    files.append(
      ServiceFile(
        folders.config.appending("systemd").appending("user").appending(Self.unit),
        SystemdUnit(
          description: "Coffer's Secret Service: keeps the secrets of this user's programs in the vault",
          start: "Type=dbus\nBusName=\(SecretServiceProvider.busName)", words: words, variables: variables
        ).text))
    if FileFacts.exists(Self.portals) {
      files.append(
        ServiceFile(
          folders.data.appending("xdg-desktop-portal").appending("portals").appending("coffer.portal"),
          """
          # Coffer keeps the secrets of sandboxed applications.
          [portal]
          DBusName=\(SecretServiceProvider.portalName)
          Interfaces=org.freedesktop.impl.portal.Secret
          # Versions before 1.17 skip a file without it; where they find no file for the desktop, they take any.
          UseIn=coffer

          """))
    }
    return files
  }
}

struct SecretServiceStatusCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Show which program answers requests for secrets, on which bus.",
    discussion: "Starts nothing. Exits with 1 if no program answers.")

  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let report = try Report(context)
    if options.json { try Output.json(report) } else { try Sheet.show(report.rows) }
    guard report.process != nil else {
      throw StoreError(.notFound, "no program answers requests for secrets", place: report.bus ?? "no bus", cure: report.cure)
    }
  }

  private struct Report: Encodable {
    @OrNull var bus: String?
    @OrNull var process: Int32?
    @OrNull var program: String?
    let installed: Bool
    let encrypts: Bool
    let agent: String
    private let missing: String?

    private enum CodingKeys: String, CodingKey { case agent, bus, encrypts, installed, process, program }

    init(_ context: Context) throws {
      // Without a bus no program can ask.
      let address: String?
      do throws(StoreError) { address = try SecretServiceProvider.busAddress() } catch { address = nil }
      let owner = try address == nil ? nil : SecretServiceProvider.owner()
      bus = address
      process = owner?.process
      program = owner?.program
      let started = try ServiceFiles(context).installed()
      installed = started?.isThere == true
      missing = started.flatMap { $0.isThere ? nil : $0.program }
      encrypts = SecretServiceProvider.missingCipher() == nil
      agent = AgentReport(try context.agentStatus()).summary
    }

    var cure: String {
      if bus == nil { return "start a bus, and programs on it: dbus-run-session -- bash" }
      if missing != nil { return "coffer secret-service install --replace" }
      return installed ? "the bus starts the service when a program asks" : "coffer secret-service install, or run"
    }

    private var start: String {
      if let missing { return "no; \(Printable.line(missing)) is not there: coffer secret-service install --replace" }
      return installed ? "yes" : "no; coffer secret-service install"
    }

    var rows: [[String]] {
      [
        ["bus", bus ?? "none; run it under dbus-run-session"],
        ["answered by", process.map { "\(program ?? ""), process \($0)" } ?? "nobody"],
        ["started by the bus", start],
        ["sessions", encrypts ? "plain, encrypted" : "plain; install libgcrypt20 (on Fedora libgcrypt) for encrypted ones"],
        ["agent", agent],
      ]
    }
  }
}

struct SecretServiceShareCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "share", abstract: "Show an item of the vault to programs that ask for secrets.",
    discussion: """
      The item appears in the login collection, with the attributes service, server, account and username if it has none of \
      these itself. Items of 'coffer secret-service' are always shown.
      """)

  @Argument(help: "The service.") var service: String?
  @Argument(help: "The account; all of the service if omitted.") var account: String?
  @Flag(help: "All items of the vault.") var all = false
  @Flag(help: "Hide them again.") var undo = false
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    guard all != (service != nil) else { throw ValidationError("give a service, or --all") }
  }

  func perform(_ context: Context) throws {
    let items = try context.items()
    let found = try items.list(service: service).filter { item in
      (account?.hasSameBytes(as: item.name.account) ?? true) && SharedItems.canBeShared(item)
        && (service != nil || !item.isOfLogin)
    }
    guard !found.isEmpty else {
      throw StoreError(
        .notFound, "there is no item to share", key: service, place: context.places.vault.description, cure: "coffer list")
    }
    let changes = found.compactMap { item in
      SharedItems.changed(item.metadata, isShared: !undo).map { ItemChange.describe(item.name, as: $0, if: item.isUnchanged) }
    }
    for start in stride(from: 0, to: changes.count, by: 1000) {
      _ = try items.apply(Array(changes[start..<min(start + 1000, changes.count)]))
    }
    context.done("\(changes.count) of \(found.count) items \(undo ? "no longer shared" : "shared")")
  }
}
