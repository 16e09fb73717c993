internal import CofferPlatform
internal import CofferVault
internal import SystemPackage

/// One sync of a vault at a time on this machine: two would put heads that know nothing of each other.
struct SyncTurn: ~Copyable {
  private let descriptor: Int32
  private let calls = SystemCalls()

  /// - Throws: ``StoreError`` `.busy` while another one runs for long, `.denied`, `.io`.
  init(of vault: VaultID, in pins: FilePath) throws(StoreError) {
    let path = try TrustedPath.makePrivateFolder(pins).appending("sy-\(vault).lock")
    let opened = calls.open(path.string, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard opened >= 0 else { throw StoreError(errno: -opened, "open the lock of the sync", place: path) }
    descriptor = opened
    do throws(StoreError) { try FileLock.acquire(descriptor, calls, place: path) { nil } } catch {
      close(descriptor)
      throw error
    }
  }

  deinit {
    FileLock.release(descriptor, calls)
    close(descriptor)
  }
}
