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
      cargo-credential-coffer, coffer-askpass and age-plugin-coffer to it, and writes manual pages to \
      PREFIX/share/man. bash, zsh and fish find --completions in PREFIX/share by themselves. Other files with these names are \
      left alone, unless --replace.
      """)
  static var idleOptions: Set<String> { ["yes", "home", "vault"] }

  @Option(help: ArgumentHelp("The folder of bin; /usr/local for all users. [default: ~/.local]", valueName: "dir"))
  var prefix: String?
  @Flag(help: "Also install completion for bash, zsh and fish.") var completions = false
  @Flag(help: "Also install the name keyring, for pip and uv; another program may have it elsewhere.") var keyring = false
  @Flag(help: "Replace other files with these names.") var replace = false
  @Flag(help: "Remove Coffer's files below the prefix, of any version.") var remove = false
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
    guard git else { return try install(Installation(prefix), context) }
    let host = try host.map { try AuthHost.check($0, for: "coffer install --git ") }
    let setting = try helperSetting(context)
    if let host { try setting.add(to: host) } else { try setting.add() }
  }

  /// For the helper of a given prefix, or the one on PATH; one that is missing is installed.
  private func helperSetting(_ context: Context) throws -> GitHelperSetting {
    if prefix == nil, let found = GitHelperSetting.found { return GitHelperSetting(context, program: found) }
    let place = try Installation(prefix)
    let helper = place.bin.appending(GitHelperSetting.name)
    if helper.withPlatformString({ access($0, X_OK) }) != 0 { try install(place, context) }
    return GitHelperSetting(context, program: helper.string)
  }

  private func install(_ place: Installation, _ context: Context) throws {
    if remove { return try place.remove(json: options.json, context) }
    // A copy of it would come first on PATH, and no upgrade would reach it.
    guard try SecondProcess.path() != "/usr/bin/coffer" else {
      throw Failure.usage("a package has installed this program and its helpers", try: "coffer install --git, for git")
    }
    let (program, links, manuals) = (place.program, place.links(keyring: keyring), try place.manuals())
    let scripts = completions ? place.scripts : []
    let isCopied = try place.put([program] + links + manuals + scripts, replacing: replace)
    let isOnPath = (ProcessEnvironment.value("PATH") ?? "").split(separator: ":").contains { $0 == place.bin.string }
    if options.json {
      let paths = { (files: [InstalledFile]) in files.map(\.path.string) }
      return try Output.json(
        Answer(
          completions: paths(scripts), links: paths(links), manuals: paths(manuals), onPath: isOnPath,
          program: program.path.string))
    }
    try Output.line("\(Sign.doneAtTerminal)\(isCopied ? "copied" : "kept  ")  \(program.path)")
    for link in links { try Output.line("\(Sign.doneAtTerminal)linked  \(link.path)") }
    context.told("\(manuals.count) manual pages, from coffer(1) on, are in \(place.man)")
    if completions { context.told("completion: bash (with bash-completion) and fish find it in a new shell") }
    let steps = nextSteps(place, isOnPath: isOnPath)
    guard Display.errors.isTerminal, !context.quiet else {
      for (what, step) in steps { context.note("\(what): \(step)") }
      return
    }
    Output.next(steps)
  }

  private func nextSteps(_ place: Installation, isOnPath: Bool) -> [(name: String, text: String)] {
    let helper = GitHelperSetting.quoted(GitHelperSetting.value(program: place.bin.appending(GitHelperSetting.name).string))
    // zsh searches there by itself.
    let findsZsh = !completions || place.share == FilePath("/usr/local/share")
    return (isOnPath ? [] : [("PATH", "export PATH=\(place.bin):$PATH in ~/.profile")])
      + (findsZsh ? [] : [("zsh", "fpath+=(\(place.zsh)) before compinit in ~/.zshrc")])
      + (git ? [] : [("git", "git config --global credential.helper \(helper)")])
      + [("docker", "\"credsStore\": \"coffer\" in ~/.docker/config.json")]
  }

  private struct Answer: Encodable {
    let completions: [String], links: [String], manuals: [String], onPath: Bool, program: String
  }
}

/// Coffer's files below a prefix. No record of them is kept: see ``InstalledFile/isCoffers()``.
private struct Installation {
  private let prefix: FilePath

  /// - Parameter given: the value of `--prefix`; nil for `~/.local`.
  init(_ given: String?) throws {
    if let given {
      guard !given.contains("\n") else { throw Failure.usage("the prefix contains a newline", try: "--prefix DIR") }
      prefix = FilePath(FileManager.default.currentDirectoryPath).pushing(FilePath(given)).lexicallyNormalized()
    } else if let home = ProcessEnvironment.value("HOME") {
      prefix = FilePath(home).appending(".local")
    } else {
      throw Failure.usage("HOME is not set, so there is no ~/.local", try: "--prefix DIR")
    }
    // They know their files, and a removal would take them away. /bin may be a link to /usr/bin.
    guard prefix != "/usr", try FileFacts.isAbsent(bin) || TrustedPath.resolve(bin) != "/usr/bin" else {
      throw Failure.usage("apt and dnf install and remove coffer in /usr", try: "--prefix /usr/local")
    }
  }

  var bin: FilePath { prefix.appending("bin") }
  var share: FilePath { prefix.appending("share") }
  var man: FilePath { share.appending("man") }
  var zsh: FilePath { share.appending("zsh").appending("site-functions") }

  var program: InstalledFile { InstalledFile(path: bin.appending("coffer"), content: .program) }

  func links(keyring: Bool) -> [InstalledFile] {
    let names = ProgramName.helpers.keys.sorted() + (keyring ? [ProgramName.keyring] : [])
    return names.map { InstalledFile(path: bin.appending($0), content: .link) }
  }

  func manuals() throws -> [InstalledFile] {
    try ManualPage.all().map { InstalledFile(path: manuals(of: $0.section).appending($0.fileName), content: .text($0.text)) }
  }

  private func manuals(of section: Int) -> FilePath { man.appending("man\(section)") }

  /// The files there with a name of a manual page of any version.
  private func manualsThere() throws -> [InstalledFile] {
    try [1, 7].flatMap { section -> [InstalledFile] in
      let folder = manuals(of: section)
      guard !FileFacts.isAbsent(folder) else { return [] }
      return try FileManager.default.contentsOfDirectory(atPath: folder.string).sorted().filter { name in
        name == "coffer.\(section)" || name.hasPrefix("coffer-") && name.hasSuffix(".\(section)")
      }.map { InstalledFile(path: folder.appending($0), content: .text("")) }
    }
  }

  /// Sources: bash-completion's README, "Where should I put it"; zshcompsys(1); fish's manual, "Where to put completions".
  var scripts: [InstalledFile] {
    [
      (CompletionCommand.Shell.bash, share.appending("bash-completion").appending("completions").appending("coffer")),
      (.zsh, zsh.appending("_coffer")),
      (.fish, share.appending("fish").appending("vendor_completions.d").appending("coffer.fish")),
    ].map { shell, path in InstalledFile(path: path, content: .text(shell.script + "\n")) }
  }

  /// False if the program runs from its installed place.
  func put(_ files: [InstalledFile], replacing: Bool) throws -> Bool {
    if !replacing, let other = try files.first(where: { try $0.isCoffers() == false }) {
      throw StoreError(
        .alreadyExists, "another file has this name", place: other.path.string, cure: "move it away, or use --replace")
    }
    for file in files { try InstalledFile.makeFolders(file.path.folder) }
    let running = try FileStatus(at: FilePath(SecondProcess.executable))
    let isKept = try FileStatus(ofLinkAt: program.path).map { running?.isSameFile(as: $0) ?? false } ?? false
    for file in files where !isKept || file.path != program.path { try file.write() }
    let written = Set(files.map(\.path))
    let old = try manualsThere().filter { try !written.contains($0.path) && $0.isCoffers() == true }
    for page in old { try page.remove() }
    return !isKept
  }

  func remove(json: Bool, _ context: Context) throws {
    // The program last, so that it can finish an interrupted removal.
    let found = try (links(keyring: true) + manualsThere() + scripts + [program]).filter { file in
      guard let isCoffers = try file.isCoffers() else { return false }
      if !isCoffers { context.note("this file stays, as it is not Coffer's: \(file.path)") }
      return isCoffers
    }
    guard !found.isEmpty else {
      throw StoreError(.notFound, "nothing was installed there", place: prefix.string, cure: "the --prefix DIR given to install")
    }
    for file in found { try file.remove() }
    if json { return try Output.json(["removed": found.map(\.path.string)]) }
    if Display.output.isTerminal {
      try Output.line("\(Sign.doneAtTerminal)removed \(counted(found.count, "file")) below \(prefix)")
    } else {
      for file in found { try Output.line("removed  \(Printable.line(file.path.string))") }
    }
    context.note("the vault, the preferences, and the settings of git and docker stay")
  }
}
