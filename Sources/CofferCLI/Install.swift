internal import ArgumentParser
internal import Coffer
internal import CofferPlatform
internal import CofferTerminal
internal import FoundationEssentials
internal import SystemPackage

struct InstallCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "install",
    abstract: "Put this program, its manual, and the names that other programs look for, into a folder on PATH.",
    discussion: """
      Copies the running program to PREFIX/bin/coffer in one step, links git-credential-coffer, docker-credential-coffer, \
      cargo-credential-coffer and coffer-askpass to it, and writes manual pages to PREFIX/share/man. --keyring adds the name \
      keyring, for pip and uv; --completions adds what bash, zsh and fish load by themselves from PREFIX/share. What stands \
      under one of the names and is something else is left alone, unless --replace. --remove removes what install wrote, and \
      nothing else. --git makes coffer a credential helper of git.
      """)
  static var idleOptions: Set<String> { ["yes", "home", "vault"] }

  @Option(help: ArgumentHelp("Where bin is; /usr/local for all users. [default: ~/.local]", valueName: "dir"))
  var prefix: String?
  @Flag(help: "Completion for bash, zsh and fish too.") var completions = false
  @Flag(help: "The name keyring too, which pip and uv look for, and which may be another program's elsewhere.") var keyring =
    false
  @Flag(help: "Replace whatever has one of the names.") var replace = false
  @Flag(help: "Remove the files that install wrote. If one was changed since, nothing is removed.") var remove = false
  @Flag(help: "Only set git-credential-coffer in your git configuration, for all hosts or for HOST alone.") var git = false
  @Argument(help: "With --git: the host, for example github.com.", completion: Completions.hosts) var host: String?
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    guard !(remove || git) || !(completions || keyring || replace || (remove && git)) else {
      throw ValidationError("--remove and --git each stand alone")
    }
    guard host == nil || git else { throw ValidationError("a host belongs to --git") }
  }

  func perform(_ context: Context) throws {
    if git {
      let setting = try GitHelperSetting(context)
      guard let host else { return try setting.add() }
      return try setting.add(to: AuthHost.check(host))
    }
    let prefix = try InstallPrefix.path(prefix)
    if remove { return try InstallRemoval(prefix: prefix).perform(json: options.json, context) }
    let folder = prefix.appending("bin")
    let program = try InstalledFile(path: folder.appending("coffer"), content: .bytes(Self.program(), mode: 0o755))
    let names = ProgramName.helpers.keys.sorted() + (keyring ? [ProgramName.keyring] : [])
    let links = names.map { InstalledFile(path: folder.appending($0), content: .link("coffer")) }
    let manuals = try Self.manuals(prefix.appending("share"))
    let scripts = completions ? CompletionFiles.all(below: prefix.appending("share")) : []
    let isCopied = try put([program] + links + manuals + scripts, below: prefix, program: program)
    let isOnPath = Self.path.contains(folder.string)
    if options.json {
      let paths = { (files: [InstalledFile]) in files.map(\.path.string) }
      return try Output.line(
        JSONText.encode(
          Answer(
            completions: paths(scripts), links: paths(links), manuals: paths(manuals), onPath: isOnPath,
            program: program.path.string)))
    }
    try Output.line("\(Sign.doneAtTerminal)\(isCopied ? "copied" : "kept  ")  \(program.path)")
    for link in links { try Output.line("\(Sign.doneAtTerminal)linked  \(link.path)") }
    let report = InstallReport(
      prefix: prefix, manuals: manuals.count, hasCompletions: completions, isOnPath: isOnPath)
    report.tell(context)
  }

  private struct Answer: Encodable {
    let completions: [String], links: [String], manuals: [String], onPath: Bool, program: String
  }

  private static var path: [String] { (ProcessEnvironment.value("PATH") ?? "").split(separator: ":").map(String.init) }

  /// Writes `files` and keeps a record of them.
  ///
  /// - Returns: false if the program runs from its installed place.
  private func put(_ files: [InstalledFile], below prefix: FilePath, program: InstalledFile) throws -> Bool {
    var record = try InstallRecord(prefix: prefix)
    // Uninstall makes the same check.
    try record.checkWays(to: files, "nothing was installed", otherwise: "choose another prefix")
    for file in files { try check(file, isProgram: file.path == program.path, record) }
    let missing = Self.missing((files.map(\.path) + [record.file]).map(\.folder))
    do {
      for file in files { try record.makeFolders(file.path.folder) }
      try record.add(files)
      try record.write()
    } catch {
      // Without a record no uninstall would remove these folders. A folder with content stays.
      for folder in missing { folder.withPlatformString { _ = rmdir($0) } }
      throw error
    }
    let isKept = Self.runs(from: program.path)
    for file in files where !isKept || file.path != program.path { try file.write() }
    try record.settle(files)
    try record.write()
    return !isKept
  }

  /// The missing ones of `folders` and their parents, the innermost first.
  private static func missing(_ folders: [FilePath]) -> [FilePath] {
    var found: Set<FilePath> = []
    for folder in folders {
      var path = folder
      while !FileFacts.exists(path), found.insert(path).inserted { path = path.folder }
    }
    return found.sorted { $0.length > $1.length }
  }

  /// Replaceable are: nothing, a file of an install, a link to a program of this name, and, as the program itself, another
  /// coffer that a person copied there.
  private func check(_ file: InstalledFile, isProgram: Bool, _ record: InstallRecord) throws {
    guard !replace, let mark = try InstalledFile.mark(at: file.path), !record.has(mark, at: file.path) else { return }
    let isOurs: Bool =
      switch file.content {
      case .link: mark.hasPrefix("link:") && FilePath(String(mark.dropFirst("link:".count))).lastComponent?.string == "coffer"
      case .bytes: try mark == file.mark() || isProgram && Self.isFile(mark) && InstalledFile.isCoffer(at: file.path)
      }
    guard !isOurs else { return }
    throw StoreError(
      .alreadyExists, "something else has the name already", place: file.path.string,
      cure: "move it away, or --replace takes its place")
  }

  private static func isFile(_ mark: String) -> Bool { !mark.isEmpty && !mark.hasPrefix("link:") }

  #if os(Linux)
    private static let source = "/proc/self/exe"
  #else
    private static let source = CommandLine.arguments[0]
  #endif

  private static func program() throws -> Data { try Data(contentsOf: URL(filePath: source), options: .alwaysMapped) }

  private static func runs(from target: FilePath) -> Bool {
    var (running, there) = (stat(), stat())
    guard target.withPlatformString({ stat($0, &there) }) == 0, stat(source, &running) == 0 else { return false }
    return running.st_ino == there.st_ino && running.st_dev == there.st_dev
  }

  private static func manuals(_ share: FilePath) throws -> [InstalledFile] {
    try ManualPage.all().map { page in
      InstalledFile(
        path: share.appending("man").appending("man\(page.section)").appending(page.fileName),
        content: .bytes(Data(page.text.utf8), mode: 0o644))
    }
  }
}
