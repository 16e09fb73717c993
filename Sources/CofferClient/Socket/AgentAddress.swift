/// The socket of a user's agent: `agent.sock` in a private folder. The folder's rule is that of a vault's: see "Files that
/// others could reach" in the article "The vault".
package struct AgentAddress: Sendable {
  /// The path's bytes and a zero.
  private let folder: [CChar]

  /// Milliseconds to wait for room in the agent's queue: a stopped agent must not block its clients.
  private static let patience: Int32 = 2000

  /// - Parameter folder: the path's bytes and a zero.
  package init(folder: [CChar]) { self.folder = folder }

  private static let name = "/agent.sock".utf8CString
  private var path: [CChar] { folder.dropLast() + Self.name }
  /// For errors.
  package var text: String { Self.text(path) }

  /// Whether there is a socket.
  package var exists: Bool { access(path, F_OK) == 0 }

  /// A connection to the agent; nil if none listens.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.denied` if the folder or the listener is another user's; `.busy`, `.io`.
  package func connect<Failure: WireFailure>(_: Failure.Type = Failure.self) throws(Failure) -> LocalSocket? {
    // Without a socket, a defect of its folder does not matter to a client.
    guard exists, let folder = try privateFolder(Failure.self) else { return nil }
    let descriptor = try Self.reachable(folder, Failure.self) { coffer_local_connect($0, Self.patience) }
    guard descriptor >= 0 else {
      if errno == ENOENT || errno == ECONNREFUSED { return nil }
      throw .system(errno, "connect to the agent", place: text)
    }
    let connection = LocalSocket(descriptor)
    try Self.checkPeer(connection.descriptor, "the agent", place: text, Failure.self)
    return connection
  }

  /// - Throws: ``/CofferPlatform/StoreError/Kind/denied`` unless the process at the other end of `descriptor` is this user's.
  package static func checkPeer<Failure: WireFailure>(
    _ descriptor: Int32, _ who: String, place: String, _: Failure.Type = Failure.self
  ) throws(Failure) {
    var user: UInt32 = 0
    guard coffer_peer_user(descriptor, &user) == 0 else {
      throw .system(errno, "ask whose process \(who) is", place: place)
    }
    guard user == geteuid() else {
      throw Failure(
        WireError(
          code: 29, "\(who) is a process of user \(user), not of user \(geteuid())", place: place,
          cure: "find out who put it there, or leave the agent out", detail: "distrustAgent"))
    }
  }

  /// Lends a path of the socket that fits in an address (107 bytes on Linux), however deep the folder is.
  package static func reachable<Failure: WireFailure>(
    _ folder: [CChar], _: Failure.Type = Failure.self, _ body: (UnsafePointer<CChar>) -> Int32
  ) throws(Failure) -> Int32 {
    let path = folder.dropLast() + name
    #if os(Linux)
      if path.count > 108 {
        let handle = coffer_open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        guard handle >= 0 else { throw .system(errno, "open the folder", place: text(folder)) }
        let result = "/proc/self/fd/\(handle)/agent.sock".withCString(body)
        let code = errno
        close(handle)
        errno = code
        return result
      }
    #endif
    return Array(path).withUnsafeBufferPointer { $0.baseAddress.map(body) ?? -1 }
  }

  private static func text(_ path: [CChar]) -> String {
    String(decoding: path.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}

// As TrustedPath in CofferPlatform, which this target does not link.
extension AgentAddress {
  private static let groupAndOthers: mode_t = 0o077, groupAndOthersWrite: mode_t = 0o022, othersWrite: mode_t = 0o002
  private static let sticky: mode_t = 0o1000

  /// The resolved path of the folder; nil if there is none.
  private func privateFolder<Failure: WireFailure>(_: Failure.Type) throws(Failure) -> [CChar]? {
    let place = Self.text(folder)
    func denied(_ what: String, _ cure: String, at parent: String? = nil) -> Failure {
      Failure(WireError(code: 29, what, place: parent ?? place, cure: cure))
    }
    var found = stat()
    guard lstat(folder, &found) == 0 else {
      guard errno == ENOENT || errno == ENOTDIR else { throw .system(errno, "read the status", place: place) }
      return nil
    }
    guard found.st_mode & S_IFMT != S_IFLNK else {
      throw denied("the folder is a symbolic link", "give the path of the folder that it points to")
    }
    guard found.st_mode & S_IFMT == S_IFDIR else { throw denied("there is a file instead of a folder", "choose another path") }
    guard found.st_uid == geteuid() else {
      throw denied(
        "the folder belongs to user \(found.st_uid), not to user \(geteuid()) who runs this", "choose a path of your own")
    }
    guard found.st_mode & Self.groupAndOthers == 0 else {
      throw denied(
        "mode \(Self.octal(found)) gives other users access to the folder", "run chmod 700 '\(place)'")
    }
    guard let resolved = realpath(folder, nil) else { throw .system(errno, "resolve the path", place: place) }
    defer { free(resolved) }
    let whole = Array(UnsafeBufferPointer(start: resolved, count: strlen(resolved) + 1))
    var end = whole.count - 1
    while end > 1 {
      repeat { end -= 1 } while resolved[end] != CChar(UInt8(ascii: "/"))
      resolved[max(end, 1)] = 0
      guard lstat(resolved, &found) == 0, found.st_mode & S_IFMT == S_IFDIR else {
        throw denied("a parent folder changed while it was checked", "try again")
      }
      guard let fault = Self.fault(ofParent: resolved, found) else { continue }
      throw denied(fault, "run chmod go-w on it, or choose another path", at: String(cString: resolved))
    }
    return whole
  }

  private static func fault(ofParent path: UnsafePointer<CChar>, _ found: stat) -> String? {
    guard found.st_uid == 0 || found.st_uid == geteuid() else {
      return "a parent folder belongs to user \(found.st_uid), who can replace its contents"
    }
    guard found.st_mode & groupAndOthersWrite != 0 else { return nil }
    let isForOwnGroup = found.st_uid == geteuid() && found.st_mode & othersWrite == 0
    if isForOwnGroup, coffer_has_private_group(path, found.st_gid) { return nil }
    if found.st_uid == 0, found.st_mode & sticky != 0 { return nil }
    return "mode \(octal(found)) lets other users write to a parent folder"
  }

  /// Permission bits as `chmod` takes them: `0644`.
  private static func octal(_ found: stat) -> String { "0" + String(found.st_mode & 0o7777, radix: 8) }
}
