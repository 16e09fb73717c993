/// The places of a user's agent and vault, as ``/Coffer/Places`` finds them, and the expected vault.
struct AgentPlaces: Sendable {
  var folder: [CChar]
  var vault = ""
  var expected: [UInt8] = []
  var leastGeneration: UInt64 = 0
  var invitations: [String] = []

  /// Source: XDG Base Directory Specification 0.8 (a relative path in one of its variables is ignored).
  static func standard(_ variable: (String) -> String?) throws(ClientError) -> AgentPlaces {
    func given(_ name: String) -> String? { variable(name).flatMap { $0.isEmpty ? nil : $0 } }
    func base(_ name: String) -> String? { given(name).flatMap { $0.hasPrefix("/") ? $0 : nil } }
    var places = AgentPlaces(folder: [])
    if let home = given("COFFER_HOME") {
      let home = try absolute(home)
      (places.folder, places.vault) = (bytes(home + "/run"), home + "/data/vault.sqlite")
    } else {
      guard let home = base("HOME") ?? userFolder else {
        throw ClientError(WireError(code: 29, "this user has no home folder", cure: "set HOME or COFFER_HOME"))
      }
      let run = (base("XDG_RUNTIME_DIR") ?? loginFolder) ?? (base("XDG_STATE_HOME") ?? home + "/.local/state")
      let isRuntime = base("XDG_RUNTIME_DIR") != nil || loginFolder != nil
      places.folder = bytes(run + (isRuntime ? "/coffer" : "/coffer/run"))
      places.vault = (base("XDG_DATA_HOME") ?? home + "/.local/share") + "/coffer/vault.sqlite"
    }
    if let vault = given("COFFER_VAULT") { places.vault = vault.contains("://") ? vault : try absolute(vault) }
    if let text = given("COFFER_EXPECT_VAULT") { try places.expect(text.hasPrefix("/") ? Self.content(of: text) : text) }
    return places
  }

  static func bytes(_ path: String) -> [CChar] { Array(path.utf8CString) }

  /// An id, optionally with a colon and a generation, or invitations, which the agent reads.
  private mutating func expect(_ text: String) throws(ClientError) {
    let words = text.split(separator: " ")
    let parts = words.first.map { $0.split(separator: ":", omittingEmptySubsequences: false) } ?? []
    let digits = parts.first.map { $0.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue } } ?? []
    guard words.count == 1, digits.count == 32, parts[0].utf8.count == 32 else { return invitations = words.map(String.init) }
    expected = stride(from: 0, to: 32, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    guard parts.count > 1 else { return }
    guard parts.count == 2, let generation = UInt64(parts[1]), generation > 0 else {
      throw ClientError(
        WireError(
          code: 1, "COFFER_EXPECT_VAULT is neither a vault's id nor invitations",
          cure: "give 32 hexadecimal digits, and a colon and a generation if wanted"))
    }
    leastGeneration = generation
  }

  /// The limit is that of an identity with 64 invitations.
  private static func content(of path: String) throws(ClientError) -> String {
    let file = coffer_open(path, O_RDONLY | O_CLOEXEC, 0)
    guard file >= 0 else { throw .system(errno, "open the file of invitations", place: path) }
    defer { close(file) }
    var facts = stat()
    guard fstat(file, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG, [0, geteuid()].contains(facts.st_uid),
      facts.st_mode & 0o022 == 0
    else {
      throw ClientError(
        WireError(
          code: 29, "another user can change the file of invitations", place: path,
          cure: "run chmod go-w on it, and let it belong to root or to you"))
    }
    var bytes = [UInt8](repeating: 0, count: 16_384)
    let count = read(file, &bytes, bytes.count)
    guard count > 0 else { throw .system(count < 0 ? errno : EINVAL, "read the file of invitations", place: path) }
    return String(decoding: bytes[..<count].map { $0 < 0x20 ? 0x20 : $0 }, as: UTF8.self)
  }

  private static func absolute(_ path: String) throws(ClientError) -> String {
    var parts: [Substring] = []
    var whole = path
    if !path.hasPrefix("/") {
      guard let current = getcwd(nil, 0) else { throw .system(errno, "find the current folder", place: path) }
      defer { free(current) }
      whole = String(cString: current) + "/" + path
    }
    for part in whole.split(separator: "/") where part != "." {
      if part == ".." { _ = parts.popLast() } else { parts.append(part) }
    }
    return "/" + parts.joined(separator: "/")
  }

  private static var userFolder: String? {
    getpwuid(geteuid()).flatMap { $0.pointee.pw_dir }.map { String(cString: $0) }.flatMap { $0.hasPrefix("/") ? $0 : nil }
  }

  /// The folder that the system makes for a user at login. Source: pam_systemd(8).
  private static var loginFolder: String? {
    let folder = "/run/user/\(geteuid())"
    var found = stat()
    guard lstat(folder, &found) == 0, found.st_mode & S_IFMT == S_IFDIR, found.st_uid == geteuid(), found.st_mode & 0o077 == 0
    else { return nil }
    return folder
  }
}
