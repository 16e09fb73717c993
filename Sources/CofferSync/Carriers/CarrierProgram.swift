internal import CofferPlatform
internal import SystemPackage

/// Another program that carries files.
///
/// It runs in a session of its own, without a terminal, and ends with this process. It gets an empty input or a file, no
/// other descriptor, and few variables: none of them unlocks a vault.
struct CarrierProgram: Sendable {
  let path: String
  /// A private folder, for its output.
  let folder: FilePath
  /// Variables of its own, `NAME=value`.
  var settings: [String] = []
  /// Inherited variables beside the usual ones. A name that ends with `_` stands for all that begin so.
  var inherited: [String] = []
  /// Most bytes of each file that it writes: the remote decides how much it sends.
  var largestFile = Group.largest
  /// Then all that it started is killed: an end that answers no more must not stop later runs.
  var patience = Duration.seconds(1_800)

  struct Answer {
    let status: Int32
    let lines: [Substring]
    /// The line of its errors with the reason, or nothing: printable, and not long.
    let words: String
  }

  /// Where the network, an agent of SSH's and the program's settings are found.
  private static let usual = [
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS", "SSH_AUTH_SOCK", "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy",
    "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR",
  ]

  /// - Parameters:
  ///   - input: its standard input; nil for none.
  ///   - output: a file for its standard output; nil to return its lines.
  ///   - limit: most bytes of returned lines: the remote may choose their number.
  /// - Throws: ``StoreError`` `.unsupported` if the program is not there, `.damaged`, `.unreachable` after the patience, `.io`.
  func run(
    _ words: [String], input: FilePath? = nil, output: FilePath? = nil, limit: Int = 1 << 20
  ) throws(StoreError) -> Answer {
    let (printed, told) = (output ?? folder.appending("printed"), folder.appending("told"))
    let status = try Self.opened(input, O_RDONLY) { (input) throws(StoreError) in
      try Self.opened(printed, O_WRONLY | O_CREAT | O_TRUNC) { (output) throws(StoreError) in
        try Self.opened(told, O_WRONLY | O_CREAT | O_TRUNC) { (errors) throws(StoreError) in
          try end(of: start(words, input, output, errors))
        }
      }
    }
    let lines = output == nil ? try PieceFolder.read(printed, limit: limit) : []
    guard let lines else {
      throw StoreError(
        .damaged, "\(path) printed more than \(limit) bytes", cure: "look at the files at the remote")
    }
    let errors = try PieceFolder.read(told, limit: limit) ?? []
    return Answer(
      status: status, lines: String(decoding: lines, as: UTF8.self).split(separator: "\n"), words: Self.lastWords(errors))
  }

  private static func opened<Result>(
    _ path: FilePath?, _ flags: Int32, _ body: (Int32) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    guard let path else { return try body(-1) }
    let file = coffer_open(path.string, flags | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw StoreError(errno: errno, "open a file for another program", place: path) }
    defer { close(file) }
    return try body(file)
  }

  private func start(_ words: [String], _ input: Int32, _ output: Int32, _ errors: Int32) throws(StoreError) -> pid_t {
    var variables: [UnsafeMutablePointer<CChar>?] = []
    var next = coffer_environment()
    while let entry = next?.pointee {
      let name = String(decoding: UnsafeRawBufferPointer(start: entry, count: strcspn(entry, "=")), as: UTF8.self)
      let isOwn = inherited.contains { $0.hasSuffix("_") ? name.hasPrefix($0) : name == $0 }
      let isSet = settings.contains { $0.hasPrefix(name + "=") }
      if !isSet, isOwn || Self.usual.contains(name) { variables.append(strdup(entry)) }
      next = next?.advanced(by: 1)
    }
    variables += settings.map { strdup($0) } + [nil]
    let copies = ([path] + words).map { strdup($0) } + [nil]
    defer { for copy in copies + variables { free(copy) } }
    let child = coffer_spawn_guarded(path, copies, variables, input, output, errors, UInt64(largestFile))
    guard child <= 0 else { return child }
    guard errno == ENOENT else { throw StoreError(errno: errno, "start the program", place: FilePath(path)) }
    throw StoreError(.unsupported, "there is no program \(path)", cure: "install it, or check its name and PATH")
  }

  /// Waits for its end, and returns its status as a shell tells it.
  private func end(of child: pid_t) throws(StoreError) -> Int32 {
    let deadline = LockDeadline(after: patience)
    var raw: Int32 = 0, pause: UInt32 = 500
    while true {
      let ended = waitpid(child, &raw, WNOHANG)
      if ended == child { return Ending(raw).status }
      guard ended == 0 || errno == EINTR else { throw StoreError(errno: errno, "wait for \(path)", place: FilePath(path)) }
      guard !deadline.isOver else { break }
      usleep(pause)
      pause = min(pause * 2, 20_000)
    }
    // With its session: all that it started.
    kill(-child, SIGKILL)
    Ending.discard(child)
    throw StoreError(.unreachable, "\(path) did not end within \(patience.inWords) and was killed", cure: "try again later")
  }

  /// The first error of a repository, or the last line, without advice and git's sentences after the reason.
  private static func lastWords(_ errors: [UInt8]) -> String {
    let lines = String(decoding: errors, as: UTF8.self).split(whereSeparator: \.isNewline)
    let told = lines.prefix { !$0.hasPrefix("fatal: Could not read from remote repository") }
    let isAdvice = { (line: Substring) in ["hint:", "error: failed to push some refs", "To "].contains { line.hasPrefix($0) } }
    let last = (told.isEmpty ? lines[...] : told).last { !isAdvice($0) && !$0.allSatisfy(\.isWhitespace) }
    let line = lines.first { $0.hasPrefix("remote: error: ") } ?? last ?? ""
    return String(String(line).spelledOut().prefix(200))
  }
}

extension CarrierProgram.Answer {
  /// The fault of a program that ended with ``status``. Its words decide only the kind.
  ///
  /// - Parameters:
  ///   - known: the kind, regardless of its words.
  ///   - kind: for other words.
  func failure(
    _ doing: String, place: String, as known: StoreError.Kind? = nil, otherwise kind: StoreError.Kind = .unreachable
  ) -> StoreError {
    let found = known ?? Self.kinds.first { words.contains($0.words) }?.kind ?? kind
    let reason = words.isEmpty ? "status \(status), without a word" : words
    let cure =
      switch found {
      case .unreachable: "try again later; nothing here was changed"
      case .loginRefused: "log in there once by hand: this program cannot ask"
      case .notFound: "check the address, and make an empty place there first"
      default: "see the message of the other program; nothing here was changed"
      }
    return StoreError(found, "could not \(doing): \(reason)", place: place, cure: cure)
  }

  private static let kinds: [(words: String, kind: StoreError.Kind)] = [
    ("Permission denied", .loginRefused), ("Authentication failed", .loginRefused), ("could not read Username", .loginRefused),
    ("Host key verification failed", .loginRefused), ("401 Unauthorized", .loginRefused), ("403 Forbidden", .loginRefused),
    ("returned error: 403", .loginRefused), ("AccessDenied", .loginRefused),
    ("does not appear to be a git repository", .notFound), ("not found", .notFound), ("dubious ownership", .denied),
    ("No space left", .noSpace), ("no space left", .noSpace), ("Input/output error", .io(EIO)),
    // Of another push, or of one that was killed.
    ("cannot lock ref", .unreachable), ("denying non-fast-forward", .refused), ("hook declined", .refused),
    ("rotected branch", .refused),
    ("connection refused", .unreachable), ("no such host", .unreachable), ("timeout", .unreachable),
  ]
}
