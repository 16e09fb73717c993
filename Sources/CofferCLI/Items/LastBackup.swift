internal import Coffer
internal import CofferPlatform
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials
internal import SystemPackage

/// This machine's last backup of a vault, remembered beside its pins: a file with the path of the backup, as old as that.
struct LastBackup {
  let path: String
  let date: Date

  /// Bytes of a path, at most (`PATH_MAX` on Linux).
  private static let longest = 4096

  static func remember(_ file: String, of vault: VaultID, _ places: Places) {
    // The backup is made all the same, and only its age is unknown.
    do {
      let path = try TrustedPath.absolute(FilePath(file)).string
      _ = try TrustedPath.makePrivateFolder(places.state)
      try AtomicFile(name(vault, places)).replace(with: path.utf8Span.span.bytes, mode: 0o600, durably: false)
    } catch {}
  }

  init?(of vault: VaultID, _ places: Places) {
    let name = Self.name(vault, places)
    do {
      guard try TrustedPath.privateFile(name) != nil, let status = try FileStatus(at: name) else { return nil }
      path = String(decoding: try PlainFile.read(name.string, limit: Self.longest), as: UTF8.self)
      date = Date(timeIntervalSince1970: Double(status.modified) / 1e9)
    } catch { return nil }
  }

  private static func name(_ vault: VaultID, _ places: Places) -> FilePath { places.state.appending("backup-\(vault)") }
}
