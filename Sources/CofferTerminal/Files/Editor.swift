package import Coffer
internal import CofferPlatform
internal import SystemPackage

package enum Editor {
  /// - Throws: `.refused` if no file system is in memory; a failure if the editor fails or is killed. The value is wiped
  ///   either way.
  package static func edit(_ value: borrowing SecretBytes, limit: Int, places: Places) throws -> SecretBytes {
    let folder = try MemoryFolder(places)
    let file = folder.path.appending("value").string
    _ = try PrivateFile.write(value.duplicate(), to: file)
    // Held: control-C is for the editor, and nothing may end this process before the value is wiped.
    var signals = HeldSignals([SIGINT, SIGQUIT, SIGTERM, SIGHUP])
    let outcome = Result { try run(file, limit) }
    folder.wipe()
    while let signal = signals.next() { if signal == SIGTERM || signal == SIGHUP { signals.deliver(signal) } }
    return try outcome.get()
  }

  private static func run(_ file: String, _ limit: Int) throws -> SecretBytes {
    let named = ProcessEnvironment.value("VISUAL") ?? ProcessEnvironment.value("EDITOR")
    // vi would draw the secret on any standard output, such as cron's mail or a log.
    guard named != nil || (isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1) else {
      throw Failure.usage("there is no terminal to edit at", try: "coffer set, or an editor in VISUAL; nothing was changed")
    }
    let editor = named ?? "vi"
    let status = try start("\(editor)\(quietly(editor)) \"$1\"", file)
    guard status == 0 else {
      throw Failure(
        .failed, kind: "editorFailed",
        status > 128 ? "the editor was killed by signal \(status - 128)" : "the editor ended with status \(status)",
        cure: "nothing was changed; VISUAL or EDITOR names the editor")
    }
    let descriptor = coffer_open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0)
    guard descriptor >= 0 else {
      throw StoreError(.io(errno), "the editor left no file", place: file, cure: "nothing was changed; try again")
    }
    defer { close(descriptor) }
    return try SecretReader.read(descriptor, limit: limit, what: "the value", place: file)
  }

  /// Options against copies of the text elsewhere: vim saves its registers in the user's home.
  private static func quietly(_ editor: String) -> String {
    let word = editor.split(separator: " ").first ?? ""
    // On most systems vi is a link to vim.
    let path = word.contains("/") ? String(word) : "/usr/bin/\(word)"
    let name = GivenPath.realPath(FilePath(path))?.split(separator: "/").last.map(String.init) ?? String(word)
    return name.hasPrefix("vim.") && name != "vim.tiny" || name == "vim" || name == "nvim"
      ? " -n -i NONE -c 'set nobackup nowritebackup noundofile'" : ""
  }

  /// Runs the shell, because EDITOR may be several words.
  ///
  /// - Returns: the status that a shell reports.
  private static func start(_ line: String, _ file: String) throws -> Int32 {
    let words: [ByteWord] = ["/bin/sh", "-c", ByteWord("exec \(line)"), "coffer", ByteWord(file)]
    let child = try Child("/bin/sh", words, .inherited(ChildEnvironment()))
      .start { StoreError(errno: $0, "start the editor", place: "/bin/sh") }
    return try Ending(of: child).status
  }
}
