internal import CofferPlatform
internal import CofferVault
internal import SystemPackage

/// One sync of a vault at a time on this machine: two would put heads that know nothing of each other.
struct SyncTurn: ~Copyable {
  private let descriptor: Int32
  private let calls = SystemCalls()

  private init(_ descriptor: Int32) { self.descriptor = descriptor }

  /// - Throws: ``StoreError`` `.busy` while another one runs for long, `.denied`, `.io`.
  static func take(of vault: VaultID, in pins: FilePath) throws(StoreError) -> SyncTurn {
    let (calls, path) = (SystemCalls(), try TrustedPath.makePrivateFolder(pins).appending(SyncRecord.lockName(vault)))
    let opened = calls.open(path.string, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard opened >= 0 else { throw StoreError(errno: -opened, "open the lock of the sync", place: path) }
    do throws(StoreError) { try FileLock.acquire(opened, calls, place: path) { nil } } catch {
      close(opened)
      throw error
    }
    return SyncTurn(opened)
  }

  consuming func end() {}

  deinit {
    FileLock.release(descriptor, calls)
    close(descriptor)
  }
}
