internal import ArgumentParser
internal import CofferStorage
internal import CofferPlatform
internal import CofferTerminal
internal import FoundationEssentials
internal import SystemPackage

struct AgentInstallCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "install", abstract: "Write a systemd unit that starts the agent with your session.",
    discussion: """
      The unit goes to systemd/user in your configuration folder, wherever COFFER_HOME is. 'systemctl --user enable --now \
      coffer-agent' starts it; it stays locked until 'coffer unlock'.
      """)

  @Flag(help: "Print the unit instead.") var print = false
  @Flag(help: "Replace a unit that differs.") var replace = false
  @OptionGroup var times: AgentTimes
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    try context.checkIsNoMirror()
    let unit = try SystemdUnit(
      description: "Coffer's agent: keeps the vault unlocked for this user's programs",
      words: [SecondProcess.path(), "agent", "run"] + times.arguments, variables: AgentPlaces.allVariables(context),
      target: "default.target")
    if print { return try Output.write(unit.text) }
    let file = try UserFolders().config.appending("systemd").appending("user").appending("coffer-agent.service")
    guard try ServiceFile(file, unit.text, as: "unit").write(replacing: replace) else {
      return context.note("the unit already exists: \(file)")
    }
    context.note("wrote \(file); systemctl --user enable --now coffer-agent starts it")
  }
}

/// Independent of Coffer's own places. Source: XDG Base Directory Specification.
struct UserFolders {
  let data: FilePath
  let config: FilePath

  init() throws {
    guard let home = ProcessEnvironment.value("HOME").map({ FilePath($0) }), home.isAbsolute else {
      throw Failure.usage("HOME is not the path of a folder", try: "HOME=/home/you")
    }
    func base(_ name: String, _ fallback: String) -> FilePath {
      ProcessEnvironment.value(name).map { FilePath($0) }.flatMap { $0.isAbsolute ? $0 : nil } ?? home.appending(fallback)
    }
    data = base("XDG_DATA_HOME", ".local/share")
    config = base("XDG_CONFIG_HOME", ".config")
  }
}

/// A small file that makes this program known to another.
struct ServiceFile {
  let file: FilePath
  let text: String
  private let name: String
  private static let largest = 64 * 1024

  init(_ file: FilePath, _ text: String, as name: String = "file") { (self.file, self.text, self.name) = (file, text, name) }

  /// False if it exists already.
  ///
  /// - Throws: `.alreadyExists` if it has another text, unless `replacing`.
  func write(replacing: Bool) throws -> Bool {
    if let current = try current() {
      guard !current.hasSameBytes(as: text) else { return false }
      guard replacing else {
        throw StoreError(.alreadyExists, "another \(name) is already there", place: file.string, cure: "--replace replaces it")
      }
    }
    try makeFolders(file.folder)
    try PlainFile.write(text.utf8Span.span.bytes, to: file.string)
    return true
  }

  func current() throws -> String? {
    guard FileFacts.exists(file) else { return nil }
    return String(decoding: try PlainFile.read(file.string, limit: Self.largest), as: UTF8.self)
  }

  /// Writes files, or prints them; false if they are only printed.
  static func put(_ files: [ServiceFile], printing: Bool, replacing: Bool, _ context: Context) throws -> Bool {
    for file in files {
      if printing {
        try Output.write("# \(file.file)\n\(file.text)\n")
      } else {
        context.note("\(try file.write(replacing: replacing) ? "wrote" : "is there already:") \(file.file)")
      }
    }
    return !printing
  }

  /// Removes files that are there.
  ///
  /// - Parameter words: a file of ours holds all of these.
  /// - Throws: `.refused` for a file of another program, `.notFound` if none is there.
  static func remove(_ files: [ServiceFile], with words: [String], _ context: Context) throws {
    var count = 0
    for file in files {
      guard let current = try file.current() else { continue }
      guard words.allSatisfy({ current.contains($0) }) else {
        throw StoreError(
          .refused, "the file belongs to another program", place: file.file.string, cure: "look at it; it was not changed")
      }
      guard file.file.withPlatformString({ unlink($0) }) == 0 else {
        throw StoreError(errno: errno, "remove the file", place: file.file)
      }
      context.note("removed \(file.file)")
      count += 1
    }
    guard count > 0 else {
      throw StoreError(.notFound, "nothing is installed", place: "\(words.joined(separator: " "))", cure: "nothing is left to do")
    }
  }

  private func makeFolders(_ folder: FilePath) throws {
    guard !FileFacts.exists(folder) else { return }
    try makeFolders(folder.folder)
    guard folder.withPlatformString({ mkdir($0, 0o700) }) == 0 || errno == EEXIST else {
      throw StoreError(errno: errno, "make the folder", place: folder)
    }
  }
}

/// A service of the user's session: systemd.service(5), systemd.exec(5).
struct SystemdUnit {
  let description: String
  /// The setting by which systemd knows that it has started.
  var start = "Type=exec"
  let words: [String], variables: [String]
  var target: String?

  var text: String {
    let environment = variables.map { "Environment=\(Self.quoted($0))\n" }.joined()
    let command = words.map { Self.quoted($0, inCommand: true) }.joined(separator: " ")
    let install = target.map { "\n[Install]\nWantedBy=\($0)\n" } ?? ""
    return """
      [Unit]
      Description=\(description)

      [Service]
      \(start)
      ExecStart=\(command)
      \(environment)Restart=on-failure
      # Keep secrets out of swap, core dumps and other programs.
      MemorySwapMax=0
      LimitCORE=0
      NoNewPrivileges=yes
      LockPersonality=yes
      # The network: a program may name a vault on a server.
      RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
      SystemCallArchitectures=native
      UMask=0077
      \(install)
      """
  }

  /// A word in double quotes, with special characters escaped: systemd.syntax(7), systemd.unit(5) for %, systemd.service(5)
  /// for $. By scalars: with a combining mark each is another character to Swift, and the same byte to systemd.
  private static func quoted(_ word: String, inCommand: Bool = false) -> String {
    guard !word.utf8.allSatisfy({ $0.isLetterOrDigit || "/-_.=".utf8.contains($0) }) else { return word }
    var escaped = String.UnicodeScalarView()
    for scalar in word.unicodeScalars {
      switch scalar {
      case "\\", "\"": escaped.append("\\")
      case "%": escaped.append("%")
      case "$" where inCommand: escaped.append("$")
      default: break
      }
      escaped.append(scalar)
    }
    return "\"" + String(escaped) + "\""
  }
}
