internal import ArgumentParser
internal import Coffer
internal import CofferStorage
internal import CofferPlatform
internal import CofferPostgres
internal import FoundationEssentials

struct AgentInstallCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "install", abstract: "Write a unit for systemd that starts the agent with your session.",
    discussion: """
      The unit goes to systemd/user in the folder of settings. 'systemctl --user enable --now coffer-agent' starts it; it stays \
      locked until 'coffer unlock'.
      """)

  @Flag(help: "Print the unit instead.") var print = false
  @Flag(help: "Replace a unit that differs.") var force = false
  @OptionGroup var times: AgentTimes
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let unit = SystemdUnit(
      agent: try SecondProcess.path(), variables: AgentPlaces.allVariables(context), times.arguments,
      onServer: context.places.vault.path == nil)
    if print { return try Output.write(unit.text) }
    let file = context.places.defaults.appending("systemd").appending("user").appending("coffer-agent.service")
    guard try ServiceFile(file, unit.text, as: "unit").write(force: force) else {
      return context.note("the unit is there already: \(file)")
    }
    context.note("wrote \(file); systemctl --user enable --now coffer-agent starts it")
  }
}

/// A small file that tells another program of this one.
struct ServiceFile {
  let file: FilePath
  let text: String
  private let name: String
  private static let largest = 64 * 1024

  /// - Parameter name: what it is called in an error.
  init(_ file: FilePath, _ text: String, as name: String = "file") {
    self.file = file
    self.text = text
    self.name = name
  }

  /// Writes it, with the folders on the way; false where it is there already.
  ///
  /// - Throws: `.alreadyExists` where another text stands there, unless `force`.
  func write(force: Bool) throws -> Bool {
    if let present = try present() {
      guard present != text else { return false }
      guard force else {
        throw StoreError(.alreadyExists, "another \(name) stands there", place: file.string, cure: "--force replaces it")
      }
    }
    try makeFolders(file.folder)
    try PlainFile.write(text.utf8Span.span.bytes, to: file.string)
    return true
  }

  /// The text that stands there; nil where there is no file.
  func present() throws -> String? {
    guard FileFacts.exists(file) else { return nil }
    return String(decoding: try PlainFile.read(file.string, limit: Self.largest), as: UTF8.self)
  }

  private func makeFolders(_ folder: FilePath) throws {
    guard !FileFacts.exists(folder) else { return }
    try makeFolders(folder.folder)
    guard folder.withPlatformString({ mkdir($0, 0o700) }) == 0 || errno == EEXIST else {
      throw StoreError(errno: errno, "make the folder", place: folder)
    }
  }
}

/// The places of an agent that is started from here, where they are not the standard ones: it has another current folder.
enum AgentPlaces {
  static func variables(_ context: Context) -> [String] {
    let home = context.places.home.map { "COFFER_HOME=\($0)" }
    let vault = ProcessEnvironment.value("COFFER_VAULT") == nil ? nil : "COFFER_VAULT=\(context.places.vault)"
    return [home, vault].compactMap(\.self)
  }

  /// What says where things are, where it is not the standard, to a service, which has an environment of its own.
  static func allVariables(_ context: Context) -> [String] {
    let folders = context.places.home == nil ? ["XDG_DATA_HOME", "XDG_STATE_HOME"] : []
    let server = context.places.vault.path == nil ? PostgresVaults.variables : []
    return variables(context)
      + (folders + server).compactMap { name in ProcessEnvironment.value(name).map { "\(name)=\($0)" } }
  }
}

/// A service of the user's session: systemd.service(5), systemd.exec(5).
struct SystemdUnit {
  let description: String
  /// How it tells that it is there.
  let start: [String]
  let words: [String]
  let variables: [String]
  let target: String?
  /// Whether the vault is on a server, which may be reached over a network.
  let isOnServer: Bool

  /// The agent.
  init(agent program: String, variables: [String], _ arguments: [String], onServer: Bool) {
    isOnServer = onServer
    description = "Coffer's agent: keeps the vault unlocked for this user's programs"
    start = ["Type=exec"]
    words = [program, "agent", "start", "--foreground"] + arguments
    self.variables = variables
    target = "default.target"
  }

  /// The provider of secrets, which the bus starts.
  init(secretService words: [String], variables: [String], busName: String, onServer: Bool) {
    isOnServer = onServer
    description = "Coffer's Secret Service: keeps the secrets of this user's programs in the vault"
    start = ["Type=dbus", "BusName=\(busName)"]
    self.words = words
    self.variables = variables
    target = nil
  }

  var text: String {
    let environment = variables.map { "Environment=\(Self.quoted($0))\n" }.joined()
    let command = words.map { Self.quoted($0).replacing("$", with: "$$") }.joined(separator: " ")
    let install = target.map { "\n[Install]\nWantedBy=\($0)\n" } ?? ""
    return """
      [Unit]
      Description=\(description)

      [Service]
      \(start.joined(separator: "\n"))
      ExecStart=\(command)
      \(environment)Restart=on-failure
      # What is unlocked shall not reach the swap, a core dump or another program.
      MemorySwapMax=0
      LimitCORE=0
      NoNewPrivileges=yes
      LockPersonality=yes
      RestrictAddressFamilies=AF_UNIX\(isOnServer ? " AF_INET AF_INET6" : "")
      SystemCallArchitectures=native
      UMask=0077
      \(install)
      """
  }

  /// A word in double quotes, with the characters escaped that mean something between them: systemd.syntax(7), systemd.unit(5) for %.
  private static func quoted(_ word: String) -> String {
    let isPlain = word.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
        UInt8(ascii: "/"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "="):
        true
      default: false
      }
    }
    guard !isPlain else { return word }
    let escaped = word.map { character -> String in
      switch character {
      case "\\": "\\\\"
      case "\"": "\\\""
      case "%": "%%"
      default: String(character)
      }
    }
    return "\"" + escaped.joined() + "\""
  }
}
