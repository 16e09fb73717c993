internal import CofferPlatform
internal import CofferStorage
internal import SystemPackage

/// The file that is locked during a renewal. It lies beside the credential's vault, so that every process finds it. A process
/// from cron or su does not know the run folder, and each process may have another state folder.
///
/// With two lock files two processes would ask the server, and a server that rotates tokens takes the second request for
/// theft.
enum RefreshLockFile {
  /// Nil if the vault is no file, so that no other process has it.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/denied``, ``/CofferPlatform/StoreError/Kind/noVault`` if the vault's folder
  ///   is missing or untrusted.
  static func path(for key: String, in router: StorageRouter) throws(StoreError) -> FilePath? {
    try path(for: key, of: router.vault.part, beside: FilePath(router.vault.place))
  }

  /// - Parameter part: the part of the vault that holds the key.
  static func path(for key: String, of part: String, beside vault: FilePath) throws(StoreError) -> FilePath? {
    guard vault.isAbsolute, let file = vault.lastComponent?.string else { return nil }
    guard let folder = try TrustedPath.privateFolder(vault.removingLastComponent()) else {
      throw StoreError(.noVault, "there is no folder for the vault", key: key, place: vault.string, cure: "make the vault first")
    }
    return folder.appending("refresh-" + hash([file, part, key]) + ".lock")
  }

  /// FNV-1a. A collision is harmless: two credentials then sometimes wait for each other.
  private static func hash(_ parts: [String]) -> String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in parts.joined(separator: "\0").utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    let digits = String(hash, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
