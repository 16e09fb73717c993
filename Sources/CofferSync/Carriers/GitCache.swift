internal import CofferPlatform
internal import FoundationEssentials
internal import SystemPackage

/// A bare repository on this machine with the newest commit of a remote's branch, without its history.
///
/// Commands on it read no configuration of the user's. Those that reach the remote do: credentials, proxies, certificates,
/// ssh's command and other names of hosts are set there. Hooks, questions and further fetches are switched off.
struct GitCache: Sendable {
  let address: String
  let folder: FilePath
  private let isPath: Bool
  private let local: CarrierProgram
  private let remote: CarrierProgram

  static let branch = "refs/heads/coffer"
  /// Where the cache keeps the branch.
  static let kept = "refs/coffer/tip"
  /// Bytes of one pack. Of 100 000 items a commit has 58 MB; hosts end at some GB.
  private static let largestPack = 2 << 30

  struct Tip {
    let commit: String
    /// Nil if the commit is none of ours.
    let head: HeadName?
  }

  init(_ address: String, isPath: Bool, folder: FilePath, settings: [String]) throws(StoreError) {
    let folder = try TrustedPath.makePrivateFolder(folder)
    (self.address, self.folder, self.isPath) = (address, folder, isPath)
    let common = [
      "GIT_DIR=\(folder.appending("repository"))", "GIT_TERMINAL_PROMPT=0", "SSH_ASKPASS_REQUIRE=never", "LC_ALL=C",
      "GIT_ALLOW_PROTOCOL=\(isPath ? "file" : "ssh:https:http")", "GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1",
    ]
    remote = CarrierProgram(
      path: "git", folder: folder, settings: common + settings,
      inherited: ["GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSL_", "GIT_CONFIG_GLOBAL", "COFFER_HOME"], largestFile: Self.largestPack)
    // Nothing of the user or the machine is in a commit.
    let author = ["AUTHOR", "COMMITTER"].flatMap { ["GIT_\($0)_NAME=coffer", "GIT_\($0)_EMAIL=coffer@localhost"] }
    let settings = common + author + ["TZ=UTC0", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"]
    local = CarrierProgram(path: "git", folder: folder, settings: settings, largestFile: Self.largestPack)
  }

  // MARK: The remote

  /// The commit at the end of the remote's branch; nil if it has none.
  func branchThere() throws(StoreError) -> String? {
    var program = remote
    program.patience = .seconds(120)
    let answer = try network(["ls-remote", "--quiet"] + serving("upload-pack") + [address, Self.branch], by: program)
    guard answer.status == 0 else { throw answer.failure("reach the repository", place: address) }
    return answer.lines.map { $0.split(separator: "\t") }.first { $0.count == 2 && $0[1] == Self.branch }.map { String($0[0]) }
  }

  /// Brings the branch's newest commit and its content.
  func fetch(isLast: Bool = false) throws(StoreError) {
    let words = [
      "fetch", "--quiet", "--depth=1", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance",
    ]
    let answer = try network(words + serving("upload-pack") + [address, "+\(Self.branch):\(Self.kept)"])
    guard answer.status != 0 else { return }
    guard try discardIfDamaged(), !isLast else { throw answer.failure("fetch", place: address) }
    try prepare()
    try fetch(isLast: true)
  }

  /// Puts `commit` on the remote's branch.
  ///
  /// - Returns: false if the branch does not end with `tip` any more.
  func push(_ commit: String, over tip: Tip?, anew: Bool) throws(StoreError) -> Bool {
    let lease = anew ? ["--force-with-lease=\(Self.branch):\(tip?.commit ?? "")"] : []
    let words = ["push", "--quiet", "--no-verify", "--no-signed", "--no-follow-tags", "--recurse-submodules=no"] + lease
    let answer = try network(words + serving("receive-pack") + [address, "\(commit):\(Self.branch)"])
    // Its answer may have been lost on the way.
    if answer.status != 0, case let there = try branchThere(), there != commit {
      guard there == tip?.commit else { return false }
      _ = try discardIfDamaged()
      throw answer.failure("push", place: address)
    }
    try git(["update-ref", Self.kept, commit])
    return true
  }

  /// Runs a command that reaches the remote.
  private func network(_ words: [String], by program: CarrierProgram? = nil) throws(StoreError) -> CarrierProgram.Answer {
    let switchedOff = [
      "core.hooksPath=/dev/null", "core.askPass=", "core.fsmonitor=false", "gc.auto=0", "maintenance.auto=false",
      "core.bigFileThreshold=64m", "fetch.fsckObjects=true", "http.lowSpeedLimit=100", "http.lowSpeedTime=60",
    ]
    return try (program ?? remote).run(switchedOff.flatMap { ["-c", $0] } + words)
  }

  /// The other end of a path runs here, in a repository that others may have written: none of its hooks and commands run. It
  /// makes all that it takes durable.
  private func serving(_ service: String) -> [String] {
    let settings = [
      "core.hooksPath=/dev/null", "core.alternateRefsCommand=true", "receive.autogc=false", "core.fsync=all",
      "receive.fsckObjects=true",
    ]
    return isPath ? ["--\(service)=git \(settings.map { "-c \($0)" }.joined(separator: " ")) \(service)"] : []
  }

  // MARK: The repository

  /// Makes the cache, and removes objects without a commit once there are many.
  func prepare() throws(StoreError) {
    guard try FileStatus(at: folder.appending("repository/HEAD")) != nil else {
      try git(["init", "--quiet", "--bare", "--template="])
      return
    }
    // Left by a git that was killed. The caller alone uses the cache, and all that is read of it is compared with its hash.
    for lock in ["shallow.lock", "packed-refs.lock", "HEAD.lock", "config.lock", "gc.pid.lock", "refs/coffer/tip.lock"] {
      let file = folder.appending("repository").appending(lock)
      let result = SystemCalls().unlink(file.string)
      guard result == 0 || result == -ENOENT || result == -ENOTDIR else {
        throw StoreError(errno: -result, "remove the lock of a git that was killed", place: file)
      }
    }
    // A cache that cannot be tidied is found damaged when it is needed.
    _ = try local.run(["-c", "gc.autoDetach=false", "gc", "--auto", "--quiet", "--prune=now"])
  }

  /// Removes a cache that a power failure damaged, say. It holds nothing of its own.
  private func discardIfDamaged() throws(StoreError) -> Bool {
    let repository = folder.appending("repository")
    guard try FileStatus(at: repository) != nil, try local.run(["fsck", "--no-dangling"]).status != 0 else { return false }
    do { try FileManager.default.removeItem(atPath: repository.string) } catch {
      throw StoreError(.denied, "the cache cannot be removed", place: repository.string, cure: "remove it", underlying: error)
    }
    return true
  }

  /// The newest commit here; nil if there is none.
  func tip() throws(StoreError) -> Tip? {
    let answer = try local.run(["log", "--no-walk", "--format=%H%n%s", Self.kept, "--"])
    guard answer.status == 0, let commit = answer.lines.first else { return nil }
    return Tip(commit: String(commit), head: answer.lines.dropFirst().first.flatMap { HeadName($0) })
  }

  /// Writes blobs of the tip to `pieces`.
  func take(_ wanted: [(name: PieceName, place: String)], into pieces: PieceFolder) throws(StoreError) {
    guard !wanted.isEmpty else { return }
    let output = folder.appending("output")
    defer { _ = SystemCalls().unlink(output.string) }
    let list = try input(wanted.map { "\(Self.kept):\($0.place)" })
    var program = local
    // Their possible content, and lines between them.
    program.largestFile = min(Self.largestPack, wanted.reduce(0) { $0 + $1.name.limit + 256 })
    try git(["cat-file", "--batch"], input: list, output: output, by: program)
    do {
      let file = try FileDescriptor.open(output, .readOnly, options: .closeOnExec)
      defer { close(file.rawValue) }
      for (name, _) in wanted {
        // `ID blob SIZE`, its bytes and a newline; or `PLACE missing`.
        var line: [UInt8] = [], byte: UInt8 = 0
        while try withUnsafeMutableBytes(of: &byte, { try file.fill($0) }) == 1, byte != UInt8(ascii: "\n") { line.append(byte) }
        let words = String(decoding: line, as: UTF8.self).split(separator: " ")
        guard words.count == 3, let size = Int(words[2]) else { continue }
        let end = try file.seek(offset: 0, from: .current) + Int64(size) + 1
        if words[1] == "blob", size <= name.limit {
          let bytes = try [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            count = try file.fill(UnsafeMutableRawBufferPointer(buffer))
          }
          try pieces.write(bytes, as: name)
        }
        try file.seek(offset: end, from: .start)
      }
    } catch {
      throw error as? StoreError ?? StoreError(errno: (error as? Errno)?.rawValue ?? EIO, "read from git", place: output)
    }
  }

  /// The lines of one command's input.
  func input(_ lines: [String]) throws(StoreError) -> FilePath {
    let path = folder.appending("input")
    try PieceFolder.write(Array(lines.map { "\($0)\n" }.joined().utf8), to: path)
    return path
  }

  /// Runs a command on the cache alone, and returns its lines.
  @discardableResult
  func git(
    _ words: [String], input: FilePath? = nil, output: FilePath? = nil, by program: CarrierProgram? = nil
  ) throws(StoreError) -> [String] {
    let answer = try (program ?? local).run(words, input: input, output: output)
    guard answer.status == 0 else {
      _ = try discardIfDamaged()
      // A git that was killed has damaged nothing.
      let kind: StoreError.Kind = answer.status > 128 ? .unreachable : .damaged
      throw answer.failure("keep the remote's content", place: folder.string, otherwise: kind)
    }
    return answer.lines.map { String($0) }
  }

  /// The one line of a command's output.
  func one(_ words: [String], input: FilePath? = nil) throws(StoreError) -> String {
    guard let line = try git(words, input: input).first else {
      throw StoreError(.damaged, "git printed nothing", place: folder.string, cure: "remove this cache, and try again")
    }
    return line
  }
}
