internal import ArgumentParser
internal import Coffer
internal import CofferStorage
internal import CofferPlatform
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
    let unit = SystemdUnit(program: try SecondProcess.path(), variables: Self.variables(context), arguments: times.arguments)
    if print { return try Output.write(unit.text) }
    let folder = context.places.defaults.appending("systemd").appending("user")
    let file = folder.appending("coffer-agent.service")
    if FileFacts.exists(file) {
      let present = try PlainFile.read(file.string, limit: SystemdUnit.largest)
      guard present != Data(unit.text.utf8) else { return context.note("the unit is there already: \(file)") }
      guard force else {
        throw StoreError(.alreadyExists, "another unit stands there", place: file.string, cure: "--force replaces it")
      }
    }
    try makeFolders(folder)
    try PlainFile.write(unit.text.utf8Span.span.bytes, to: file.string)
    context.note("wrote \(file); systemctl --user enable --now coffer-agent starts it")
  }

  /// What says where things are, where it is not the standard: the service has an environment of its own.
  private static func variables(_ context: Context) -> [String] {
    let given = AgentPlaces.variables(context)
    guard context.places.home == nil else { return given }
    return given
      + ["XDG_DATA_HOME", "XDG_STATE_HOME"].compactMap { name in ProcessEnvironment.value(name).map { "\(name)=\($0)" } }
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
}

/// The agent as a service of the user's session: systemd.service(5), systemd.exec(5).
struct SystemdUnit {
  let program: String
  let variables: [String]
  let arguments: [String]
  static let largest = 64 * 1024

  var text: String {
    let words = [program, "agent", "start", "--foreground"] + arguments
    let environment = variables.map { "Environment=\(Self.quoted($0))\n" }.joined()
    let command = words.map { Self.quoted($0).replacing("$", with: "$$") }.joined(separator: " ")
    return """
      [Unit]
      Description=Coffer's agent: keeps the vault unlocked for this user's programs

      [Service]
      Type=exec
      ExecStart=\(command)
      \(environment)Restart=on-failure
      # What is unlocked shall not reach the swap, a core dump or another program.
      MemorySwapMax=0
      LimitCORE=0
      NoNewPrivileges=yes
      LockPersonality=yes
      RestrictAddressFamilies=AF_UNIX
      SystemCallArchitectures=native
      UMask=0077

      [Install]
      WantedBy=default.target

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
