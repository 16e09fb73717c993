internal import ArgumentParser
internal import Coffer
internal import CofferPlatform
internal import CofferTerminal
internal import SystemPackage

struct SSHInstallCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "install", abstract: "Have systemd listen for ssh, and start 'coffer ssh run' when it asks.",
    discussion: """
      Writes a socket and a service for systemd, and a file that sets SSH_AUTH_SOCK in your sessions where nothing else has set \
      it, so that a forwarded agent stays. Prints the line that does this in other shells. The service runs with the options \
      given here.
      """)

  static let socketName = "ssh.sock"
  private static let unit = "coffer-ssh"

  @Flag(help: "Print the files instead.") var print = false
  @Flag(help: "Replace files that differ.") var replace = false
  @Flag(help: "Remove these files. Keys stay in the vault; a running service keeps running.") var remove = false
  @OptionGroup var waiting: WaitingOptions
  @OptionGroup var options: CommonOptions

  func validate() throws {
    guard !remove || !(print || replace) else { throw ValidationError("--remove excludes --print and --replace") }
  }

  func perform(_ context: Context) throws {
    let files = try files(context)
    if remove { return try ServiceFile.remove(files, with: ["Coffer", "ssh"], context) }
    try context.checkIsNoMirror()
    guard try ServiceFile.put(files, printing: print, replacing: replace, context) else { return }
    context.note("systemctl --user enable --now \(Self.unit).socket begins; sessions have SSH_AUTH_SOCK from the next login on")
    let socket = place(context, "$XDG_RUNTIME_DIR", "$`\"\\") { "\\\($0)" }
    try Output.line("[ \"${SSH_AUTH_SOCK:-}\" ] || export SSH_AUTH_SOCK=\"\(socket)\"")
  }

  /// The socket, with the folder of the session's files as `folder`: it has another name in each session of root's.
  ///
  /// - Parameter escape: the text for one of the `special` characters in the rest.
  private func place(
    _ context: Context, _ folder: String, _ special: String, _ escape: (Unicode.Scalar) -> String
  ) -> String {
    let path = context.places.run.appending(Self.socketName).string
    let base = ProcessEnvironment.value("XDG_RUNTIME_DIR").flatMap { path.hasPrefix($0 + "/") ? $0 : nil }
    let rest = path.unicodeScalars.dropFirst(base?.unicodeScalars.count ?? 0)
    return (base == nil ? "" : folder) + rest.map { special.unicodeScalars.contains($0) ? escape($0) : String($0) }.joined()
  }

  /// Sources: systemd.socket(5), environment.d(5).
  private func files(_ context: Context) throws -> [ServiceFile] {
    let config = try UserFolders().config
    let units = config.appending("systemd").appending("user")
    let words = [try SecondProcess.path(), "ssh", "run", "--quiet"] + waiting.words
    let service = SystemdUnit(
      description: "Coffer for ssh: lets this user's programs use the vault's keys", words: words,
      variables: try AgentPlaces.allVariables(context))
    return [
      ServiceFile(
        units.appending("\(Self.unit).socket"),
        """
        [Unit]
        Description=Coffer for ssh: the socket of its agent protocol

        [Socket]
        ListenStream=\(place(context, "%t", "%") { "\($0)\($0)" })
        SocketMode=0600
        DirectoryMode=0700

        [Install]
        WantedBy=sockets.target

        """),
      ServiceFile(units.appending("\(Self.unit).service"), service.text),
      ServiceFile(
        config.appending("environment.d").appending("60-\(Self.unit).conf"),
        """
        # Coffer for ssh: a forwarded agent stays.
        SSH_AUTH_SOCK=${SSH_AUTH_SOCK:-\(place(context, "${XDG_RUNTIME_DIR}", "$\\") { "\($0)\($0)" })}

        """),
    ]
  }
}
