internal import Coffer
internal import CofferTerminal
internal import CofferVault
internal import CofferPlatform
internal import CofferVaultRows
internal import FoundationEssentials
internal import SystemPackage

/// The checks of `coffer doctor`. They change and ask nothing.
struct Checkup {
  let context: Context
  /// Read once: a server that does not answer costs a wait.
  let found: Result<LockedVault, any Error>
  var places: Places { context.places }
  /// Nil for a vault on a server.
  var file: FilePath? { places.vault.path }

  init(context: Context) {
    self.context = context
    found = Result { try context.lockedVault() }
  }

  var checks: [(name: String, run: (String) -> [Finding])] {
    [("places", folders), ("vault", vault)] + (file == nil ? [("server", server)] : []) + [
      ("pins", pins), ("side files", sideFiles), ("leftovers", leftovers),
      // After the agent, which performs this check, and may lock because of its findings.
      ("agent", agent), ("content", content), ("sockets", sockets),
      ("file system", fileSystem), ("memory", memory), ("environment", environment), ("preferences", preferences),
      ("secret service", { [secretService($0)].compactMap(\.self) }),
      ("plain secrets", { SecretSearch(context: context).findings($0) }), ("editing", editing),
    ]
  }

  /// Checks that our folders and the way to them are this user's alone.
  private func folders(_ check: String) -> [Finding] {
    [file?.removingLastComponent(), places.state, places.run].enumerated().compactMap { index, folder in
      do throws(StoreError) {
        guard let folder else { return nil }
        // Only the vault's folder may be a link, made by this user.
        _ = try TrustedPath.privateFolder(index == 0 ? TrustedPath.throughOwnLink(folder) : folder)
        return nil
      } catch { return Finding(check, error) }
    }
  }

  private func vault(_ check: String) -> [Finding] {
    do {
      let vault = try found.get()
      let cheap = vault.slots.filter {
        $0.mebibytes > 0 && PassphraseCost(passes: $0.passes, mebibytes: $0.mebibytes).isBelow(.floor)
      }
      return cheap.map { slot in
        Finding(
          check, .warning,
          "the passphrase of slot \(slot.id) is cheap to attack: \(slot.passes) passes over \(slot.mebibytes) MiB",
          place: vault.place.description,
          cure: "any command that writes, unlocked with this passphrase, raises it; coffer vault passphrase --slot \(slot.id)")
      }
    } catch let error as StoreError {
      guard error.kind == .noVault, error.remedy != .returnVault else { return [Finding(check, error)] }
      return [Finding(check, .note, "there is no vault yet", place: places.vault.description, cure: "coffer init")]
    } catch let failure as Failure {
      return [Finding(check, .problem, failure.what, cure: failure.cure ?? "")]
    } catch { return [] }
  }

  private func pins(_ check: String) -> [Finding] {
    guard let vault = existingVault else { return [] }
    let place = vault.place.description
    do throws(StoreError) {
      let memory = try vault.pinMemory()
      if let expected = memory.expected, expected != vault.id {
        let cure = "coffer vault pin show; coffer vault pin accept, if this one is right"
        return [Finding(check, .problem, "another vault was expected here: \(expected)", place: place, cure: cure)]
      }
      try vault.checkAge()
      return [unwritablePins(check), unseen(check, memory.invitation, vault)].compactMap(\.self)
    } catch { return [Finding(check, error)] }
  }

  private func unseen(_ check: String, _ known: Invitation?, _ vault: LockedVault) -> Finding? {
    guard let known else {
      return Finding(
        check, .note, "this machine has not seen the vault before, so an older copy would not be noticed",
        place: vault.place.description, cure: "any command that unlocks it")
    }
    guard let given = vault.options.invitations.map(\.epoch).max(), given < known.epoch else { return nil }
    return Finding(
      check, .note,
      "COFFER_EXPECT_VAULT has an invitation of key epoch \(given), and the vault's key is of epoch \(known.epoch): "
        + "where nothing newer is known, a user removed since could pass",
      place: vault.place.description, cure: "coffer vault pin show prints the current invitation")
  }

  /// A vault on a server can be read without writable pins, and so can a read-only file.
  private func unwritablePins(_ check: String) -> Finding? {
    if let file, access(file.string, W_OK) != 0 { return nil }
    var folder = places.state.appending("pins")
    while FileFacts.isAbsent(folder), folder.lastComponent != nil { folder.removeLastComponent() }
    guard access(folder.string, W_OK) != 0 else { return nil }
    return Finding(
      check, .warning, "the pins cannot be written: later, an older copy would not be noticed",
      place: folder.string, cure: "XDG_STATE_HOME or COFFER_HOME on a writable disk")
  }

  /// Nil if it cannot be opened, which the check of the vault reports.
  var existingVault: LockedVault? { if case .success(let vault) = found { vault } else { nil } }

  private func leftovers(_ check: String) -> [Finding] {
    let folder = file?.removingLastComponent() ?? "."
    let name = file?.lastComponent?.string ?? "vault.sqlite"
    let drafts = Set([folder, places.state.appending("pins"), "."].flatMap { Draft.abandoned(in: $0) }).sorted {
      $0.string < $1.string
    }.map { path in
      Finding(
        check, .warning, "an interrupted command left a draft", place: path.string,
        cure: "the next command that writes there removes it; or rm -r \(path) \(path)-*")
    }
    return drafts
      + Self.unfinished(check, [folder, ".", places.defaults] + [SecretSearch(context: context).home].compactMap(\.self))
      + Self.entries(of: folder).filter { entry in
        entry.hasPrefix("\(name).before-") && !entry.hasSuffix("-wal") && !entry.hasSuffix("-shm")
      }.map { entry in
        let path = folder.appending(entry).string
        return Finding(
          check, .warning, "a copy of an earlier state: the vault's secrets of that time still open it", place: path,
          cure: "rm \(path), once it is not needed")
      }
  }

  /// A complete file, in the clear, that `coffer inject -o` or `coffer defaults export` was about to put in its place.
  private static func unfinished(_ check: String, _ folders: [FilePath]) -> [Finding] {
    Set(folders.flatMap { AtomicFile.abandoned(in: $0) }).sorted { $0.string < $1.string }.map { path in
      Finding(
        check, .problem, "a killed command left its output, perhaps with secrets in the clear", place: path.string,
        cure: "the next command that writes a file into the folder removes it; or rm \(path)")
    }
  }

  private static func entries(of folder: FilePath) -> [String] {
    do { return try FileManager.default.contentsOfDirectory(atPath: folder.string).sorted() } catch { return [] }
  }

  /// A socket without a listener was left by a program that was killed.
  private func sockets(_ check: String) -> [Finding] {
    Self.entries(of: places.run).map { places.run.appending($0) }.filter(Self.isStaleSocket).map { path in
      Finding(check, .warning, "no program listens on the socket", place: path.string, cure: "rm \(path)")
    }
  }

  private static func isStaleSocket(_ path: FilePath) -> Bool {
    var facts = stat()
    guard path.withPlatformString({ lstat($0, &facts) }) == 0, facts.st_mode & S_IFMT == S_IFSOCK else { return false }
    let descriptor = coffer_local_connect(path.string, 0)
    guard descriptor < 0 else {
      close(descriptor)
      return false
    }
    return errno == ECONNREFUSED
  }

  private func fileSystem(_ check: String) -> [Finding] {
    [(file, "the vault"), (places.state.appending("pins"), "the pins")].compactMap { path, what in
      do throws(StoreError) {
        guard let path, FileFacts.exists(path.removingLastComponent()), try NetworkFileSystem.holds(path) else { return nil }
        return Finding(
          check, .warning, "\(what) is on a network file system: slower, and only as safe as the server's locks",
          place: path.string, cure: "XDG_DATA_HOME or COFFER_HOME on a local disk")
      } catch { return Finding(check, error) }
    } + preferencesFileSystem(check)
  }

  /// File systems of this machine that cannot exchange two files, by statfs(2). Source: their `rename` in Linux 6.12.
  private static let withoutExchange: [Int64: String] = [
    0x2011_BAB0: "exFAT", 0x7366_746E: "NTFS", 0x3153_464A: "JFS", 0x482B: "HFS+", 0x1501_3346: "UDF", 0xF15F: "eCryptfs",
  ]

  private func preferencesFileSystem(_ check: String) -> [Finding] {
    do throws(StoreError) {
      guard FileFacts.exists(places.defaults), case let type = try NetworkFileSystem.type(of: places.defaults),
        let name = Self.withoutExchange[type] ?? NetworkFileSystem.names[type]
      else { return [] }
      let what = "the preferences are on \(name): another program's change may be lost while a list is replaced"
      return [Finding(check, .note, what, place: places.defaults.string, cure: "XDG_CONFIG_HOME on a local disk")]
    } catch { return [Finding(check, error)] }
  }

  private func editing(_ check: String) -> [Finding] {
    MemoryFolder.abandoned(places).map { path in
      Finding(
        check, .problem, "a killed command left a secret in memory", place: path.string,
        cure: "the next coffer edit wipes it; or rm -r \(path)")
    }
  }
}

struct Finding: Encodable {
  enum Severity: String, Encodable {
    /// No action is needed.
    case note
    /// A protection is weaker than it could be.
    case warning
    /// A protection is missing, or something does not work.
    case problem
  }

  let check: String
  let severity: Severity
  let what: String
  let place: String?
  let cure: String
  /// Nil for another finding.
  var secrets: PlainSecrets?

  private enum CodingKeys: String, CodingKey { case check, severity, what, place, cure }

  init(_ check: String, _ severity: Severity, _ what: String, place: String? = nil, cure: String) {
    (self.check, self.severity, self.what) = (check, severity, what)
    self.place = place.map(Printable.withoutPasswords)
    self.cure = cure
  }

  init(_ check: String, _ error: StoreError) {
    self.init(check, .problem, error.what, place: error.place, cure: error.commandCure)
  }
}

struct PlainSecrets {
  let count: Int
  /// Of one secret: `password`.
  let noun: String
  let owner: String
  let canMove: Bool
}
