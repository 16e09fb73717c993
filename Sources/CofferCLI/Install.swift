internal import ArgumentParser
internal import CofferPlatform
internal import CofferTerminal
internal import FoundationEssentials
internal import SystemPackage

struct InstallCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "install", abstract: "Install this program, its manual and its helpers for other programs.",
    discussion: """
      Copies the running program to PREFIX/bin/coffer in one step, links git-credential-coffer, docker-credential-coffer, \
      cargo-credential-coffer and coffer-askpass to it, and writes manual pages to PREFIX/share/man. bash, zsh and fish find \
      --completions in PREFIX/share by themselves. Other files with these names are left alone, unless --replace.
      """)
  static var idleOptions: Set<String> { ["yes", "home", "vault"] }

  @Option(help: ArgumentHelp("The folder of bin; /usr/local for all users. [default: ~/.local]", valueName: "dir"))
  var prefix: String?
  @Flag(help: "Also install completion for bash, zsh and fish.") var completions = false
  @Flag(help: "Also install the name keyring, for pip and uv; another program may have it elsewhere.") var keyring = false
  @Flag(help: "Replace other files with these names.") var replace = false
  @Flag(help: "Remove only the installed files; none if one was changed since.") var remove = false
  @Flag(help: "Have git ask coffer, for all hosts or for HOST; install first if the helper is missing.") var git = false
  @Argument(help: "With --git: the host, for example github.com.", completion: Completions.hosts) var host: String?
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    guard !(remove || git) || !(completions || keyring || replace || (remove && git)) else {
      throw ValidationError("--remove and --git exclude other options")
    }
    guard host == nil || git else { throw ValidationError("a host needs --git") }
  }

  func perform(_ context: Context) throws {
    guard git else { return try install(InstallPrefix.path(prefix), context) }
    let host = try host.map { try AuthHost.check($0, for: "coffer install --git ") }
    let setting = try helperSetting(context)
    if let host { try setting.add(to: host) } else { try setting.add() }
  }

  /// For the helper of a given prefix, or the one on PATH; one that is missing is installed.
  private func helperSetting(_ context: Context) throws -> GitHelperSetting {
    if prefix == nil, let found = GitHelperSetting.found { return GitHelperSetting(context, program: found) }
    let prefix = try InstallPrefix.path(prefix)
    let helper = prefix.appending("bin").appending(GitHelperSetting.name)
    if helper.withPlatformString({ access($0, X_OK) }) != 0 { try install(prefix, context) }
    return GitHelperSetting(context, program: helper.string)
  }

  private func install(_ prefix: FilePath, _ context: Context) throws {
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
      return try Output.json(
        Answer(
          completions: paths(scripts), links: paths(links), manuals: paths(manuals), onPath: isOnPath,
          program: program.path.string))
    }
    try Output.line("\(Sign.doneAtTerminal)\(isCopied ? "copied" : "kept  ")  \(program.path)")
    for link in links { try Output.line("\(Sign.doneAtTerminal)linked  \(link.path)") }
    let share = prefix.appending("share")
    context.told("\(manuals.count) manual pages, from coffer(1) on, are in \(share.appending("man"))")
    if completions { context.told("completion: bash (with bash-completion) and fish find it in a new shell") }
    let steps = nextSteps(prefix, share, isOnPath: isOnPath)
    guard Display.errors.isTerminal, !context.quiet else {
      for (what, step) in steps { context.note("\(what): \(step)") }
      return
    }
    Output.next(steps)
  }

  private func nextSteps(_ prefix: FilePath, _ share: FilePath, isOnPath: Bool) -> [(name: String, text: String)] {
    let bin = prefix.appending("bin")
    let helper = GitHelperSetting.quoted(GitHelperSetting.value(program: bin.appending(GitHelperSetting.name).string))
    // zsh searches there by itself.
    let findsZsh = !completions || share == FilePath("/usr/local/share")
    return (isOnPath ? [] : [("PATH", "export PATH=\(bin):$PATH in ~/.profile")])
      + (findsZsh ? [] : [("zsh", "fpath+=(\(CompletionFiles.zsh(below: share))) before compinit in ~/.zshrc")])
      + (git ? [] : [("git", "git config --global credential.helper \(helper)")])
      + [("docker", "\"credsStore\": \"coffer\" in ~/.docker/config.json")]
  }

  private struct Answer: Encodable {
    let completions: [String], links: [String], manuals: [String], onPath: Bool, program: String
  }

  private static var path: [String] { (ProcessEnvironment.value("PATH") ?? "").split(separator: ":").map(String.init) }

  /// False if the program runs from its installed place.
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

  /// The innermost first.
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
      .alreadyExists, "another file has this name", place: file.path.string,
      cure: "move it away, or use --replace")
  }

  private static func isFile(_ mark: String) -> Bool { !mark.isEmpty && !mark.hasPrefix("link:") }

  private static func program() throws -> Data {
    try Data(contentsOf: URL(filePath: SecondProcess.executable), options: .alwaysMapped)
  }

  private static func runs(from target: FilePath) -> Bool {
    var (running, there) = (stat(), stat())
    let isKnown = target.withPlatformString { stat($0, &there) } == 0 && stat(SecondProcess.executable, &running) == 0
    return isKnown && running.st_ino == there.st_ino && running.st_dev == there.st_dev
  }

  private static func manuals(_ share: FilePath) throws -> [InstalledFile] {
    try ManualPage.all().map { page in
      InstalledFile(
        path: share.appending("man").appending("man\(page.section)").appending(page.fileName),
        content: .bytes(Data(page.text.utf8), mode: 0o644))
    }
  }
}

enum CompletionFiles {
  /// Sources: bash-completion's README, "Where should I put it"; zshcompsys(1); fish's manual, "Where to put completions".
  static func all(below share: FilePath) -> [InstalledFile] {
    [
      (CompletionCommand.Shell.bash, share.appending("bash-completion").appending("completions").appending("coffer")),
      (.zsh, zsh(below: share).appending("_coffer")),
      (.fish, share.appending("fish").appending("vendor_completions.d").appending("coffer.fish")),
    ].map { shell, path in InstalledFile(path: path, content: .bytes(Data((shell.script + "\n").utf8), mode: 0o644)) }
  }

  static func zsh(below share: FilePath) -> FilePath { share.appending("zsh").appending("site-functions") }
}
