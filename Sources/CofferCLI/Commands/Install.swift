internal import ArgumentParser
internal import Coffer
internal import CofferPlatform
internal import FoundationEssentials
internal import SystemPackage

struct InstallCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "install", abstract: "Put this program, and the names that git and docker look for, into a folder on PATH.",
    discussion: """
      Copies the running program to PREFIX/bin/coffer in one step, and links git-credential-coffer and docker-credential-coffer to \
      it. What stands under one of the links' names and is something else is left alone, unless --force.
      """)

  @Option(help: ArgumentHelp("Where bin is: ~/.local unless given, /usr/local for all users.", valueName: "dir"))
  var prefix: String?
  @Flag(help: "Replace whatever has one of the names.") var force = false
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let folder = try target().appending("bin")
    let program = folder.appending("coffer")
    let links = ProgramName.helpers.keys.sorted().map { folder.appending($0) }
    for path in [program] + links { try check(path, isLink: path != program) }
    try Self.makeFolders(folder)
    let isCopied = try Self.copyProgram(to: program)
    for link in links { try Self.link(link) }
    let isOnPath = Self.path.contains(folder.string)
    if options.json {
      return try Output.line(
        JSONText.encode(Answer(links: links.map(\.string), onPath: isOnPath, program: program.string)))
    }
    try Output.line("\(isCopied ? "copied" : "kept  ")  \(program)")
    for link in links { try Output.line("linked  \(link)") }
    if !isOnPath { context.note("\(folder) is not on PATH: export PATH=\(folder):$PATH") }
    context.note("git: git config --global credential.helper coffer")
    context.note("docker: \"credsStore\": \"coffer\" in ~/.docker/config.json")
  }

  private struct Answer: Encodable { let links: [String], onPath: Bool, program: String }

  private func target() throws -> FilePath {
    if let prefix { return FilePath(FileManager.default.currentDirectoryPath).pushing(FilePath(prefix)).lexicallyNormalized() }
    guard let home = ProcessEnvironment.value("HOME") else {
      throw Failure.usage("HOME is not set, so there is no ~/.local", try: "--prefix DIR")
    }
    return FilePath(home).appending(".local")
  }

  private static var path: [String] { (ProcessEnvironment.value("PATH") ?? "").split(separator: ":").map(String.init) }

  /// What may be replaced: nothing, a link to a program of this name, and, as the program itself, a file.
  private func check(_ path: FilePath, isLink: Bool) throws {
    var facts = stat()
    guard !force, path.withPlatformString({ lstat($0, &facts) }) == 0 else { return }
    let isOurs =
      isLink
      ? facts.st_mode & S_IFMT == S_IFLNK && Self.linkTarget(path)?.lastComponent?.string == "coffer"
      : facts.st_mode & S_IFMT == S_IFREG
    guard !isOurs else { return }
    throw StoreError(
      .alreadyExists, "something else has the name already", place: path.string, cure: "move it away, or --force to replace it")
  }

  private static func linkTarget(_ path: FilePath) -> FilePath? {
    do { return FilePath(try FileManager.default.destinationOfSymbolicLink(atPath: path.string)) } catch { return nil }
  }

  /// Open to read for everyone, as programs are, whatever this process's mask is.
  private static func makeFolders(_ folder: FilePath) throws {
    if FileFacts.exists(folder) { return }
    try makeFolders(folder.folder)
    let code = folder.withPlatformString { mkdir($0, 0o755) == 0 && chmod($0, 0o755) == 0 ? 0 : errno }
    guard code == 0 || code == EEXIST else { throw StoreError(errno: code, "make the folder", place: folder) }
  }

  /// False where the program runs from there already.
  private static func copyProgram(to target: FilePath) throws -> Bool {
    #if os(Linux)
      let source = "/proc/self/exe"
    #else
      let source = CommandLine.arguments[0]
    #endif
    var (running, there) = (stat(), stat())
    let isThere = target.withPlatformString { stat($0, &there) } == 0
    if isThere, stat(source, &running) == 0, running.st_ino == there.st_ino, running.st_dev == there.st_dev { return false }
    let program = try Data(contentsOf: URL(filePath: source), options: .alwaysMapped)
    try AtomicFile(target).replace(with: program.bytes, mode: 0o755)
    return true
  }

  private static func link(_ path: FilePath) throws {
    let draft = path.removingLastComponent().appending(".\(path.lastComponent?.string ?? "").\(getpid())")
    let code = draft.withPlatformString { from in
      unlink(from)
      return symlink("coffer", from) == 0 && path.withPlatformString { rename(from, $0) } == 0 ? 0 : errno
    }
    guard code == 0 else { throw StoreError(errno: code, "make the link", place: path) }
  }
}
