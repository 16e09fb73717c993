internal import CofferPlatform
internal import CofferStorage
internal import SystemPackage

/// The file that is locked while a credential is renewed: beside the vault that holds the credential, whichever way a process got
/// there.
///
/// Not in the run folder, which a process started by cron or su does not know, nor in the state folder, of which each may have
/// another: two processes that lock two files ask the server twice, and one that rotates its tokens takes the second for theft.
enum RefreshLockFile {
  /// Nil where the vault is no file, so that no other process has it.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/denied``, ``/CofferPlatform/StoreError/Kind/noVault`` where the vault's folder
  ///   is not there or is not to be trusted.
  static func path(for key: String, in router: StorageRouter) throws(StoreError) -> FilePath? {
    try path(for: key, of: router.vault.part, beside: FilePath(router.vault.place))
  }

  /// - Parameter part: what of the vault the key is in.
  static func path(for key: String, of part: String, beside vault: FilePath) throws(StoreError) -> FilePath? {
    guard vault.isAbsolute, let file = vault.lastComponent?.string else { return nil }
    guard let folder = try TrustedPath.privateFolder(vault.removingLastComponent()) else {
      throw StoreError(.noVault, "there is no folder for the vault", key: key, place: vault.string, cure: "make the vault first")
    }
    return folder.appending("refresh-" + hash([file, part, key]) + ".lock")
  }

  /// FNV-1a over the parts. Two that share a name wait for each other now and then, and no harm is done.
  private static func hash(_ parts: [String]) -> String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in parts.joined(separator: "\0").utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    let digits = String(hash, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
