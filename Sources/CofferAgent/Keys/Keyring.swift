internal import CofferClient
internal import CofferPlatform
internal import CofferVault

/// The client of a request about keys, as the kernel names it.
struct KeyClient: Sendable {
  /// Its process; 0 if that is of another namespace.
  let process: Int32

  init(_ socket: borrowing LocalSocket) { process = coffer_peer_process(socket.descriptor) }
}

/// The keys of one vault while it is unlocked: those in it, and those that `ssh-add` brought. It decides on each use.
final class Keyring: Sendable {
  func list(for bindings: [SessionBinding], in vault: borrowing UnlockedVault) throws(StoreError) -> [KeyListing] { [] }

  func use(_ use: KeyUse, by client: KeyClient, in vault: borrowing UnlockedVault) throws(StoreError) -> KeyOutcome {
    throw StoreError(.notFound, "there is no such key", cure: "add it")
  }

  /// - Parameter isProven: whether the right passphrase came with it.
  func allow(_ approval: KeyApproval, isProven: Bool, by client: KeyClient, in vault: borrowing UnlockedVault) throws(StoreError)
  {}

  func put(
    _ addition: KeyAddition, by client: KeyClient, in vault: borrowing UnlockedVault
  ) throws(StoreError) -> String { "" }

  func drop(_ blob: KeyBlob?, in vault: borrowing UnlockedVault) throws(StoreError) -> Int { 0 }

  func uses(most: Int?, in vault: borrowing UnlockedVault) throws(StoreError) -> [UseEntry] { [] }
}
