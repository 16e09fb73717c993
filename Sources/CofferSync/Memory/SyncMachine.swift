internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import CofferVault
internal import CofferVaultFormat

/// This machine among those that sync a vault: its item `coffer.sync/MACHINE` has its name, and the key of its bases.
///
/// The key is in the vault, so that the bases tell nothing to a reader of the file alone.
enum SyncMachine {
  private static let keyBytes = 32

  static func item(of machine: ReplicaID) -> ItemName {
    ItemName(sealed: ItemName.syncedMachines, machine.description)
  }

  /// The key of the bases; nil if the machine has no item yet.
  static func key(of machine: ReplicaID, in vault: borrowing UnlockedVault) throws(StoreError) -> MergeKey? {
    do throws(StoreError) {
      return try vault.withKey(item(of: machine)) { (key, _) throws(StoreError) in
        do throws(SecretMemoryError) { return MergeKey(try key.duplicate()) } catch { throw StoreError(memory: error) }
      }
    } catch {
      guard error.kind == .notFound else { throw error }
      return nil
    }
  }

  static func newKey() throws(StoreError) -> SecretBytes {
    do throws(SecretMemoryError) { return try SecretBytes.random(keyBytes) } catch { throw StoreError(memory: error) }
  }

  /// The change that makes a machine's item.
  ///
  /// - Parameter name: for people, on other machines.
  static func making(_ machine: ReplicaID, named name: String) throws(StoreError) -> ItemChange {
    let metadata = ItemMetadata(label: name, attributes: [ItemMetadata.use: ItemMetadata.useOnly])
    return .set(SecretForm(try newKey(), metadata: metadata), for: item(of: machine), if: .absent, keeping: 0)
  }

  /// The names that the vault has of machines, with the beginning of the id where two have one.
  static func names(of machines: VersionVector, in vault: borrowing UnlockedVault) throws(StoreError) -> [ReplicaID: String] {
    var names: [ReplicaID: String] = [:]
    for machine in machines.marks.keys { names[machine] = try name(of: machine, in: vault) }
    let counts = Dictionary(names.values.map { ($0, 1) }, uniquingKeysWith: +)
    for (machine, name) in names where counts[name] != 1 { names[machine] = "\(name) (\(machine.description.prefix(4)))" }
    return names
  }

  private static func name(of machine: ReplicaID, in vault: borrowing UnlockedVault) throws(StoreError) -> String? {
    do throws(StoreError) {
      return try vault.withKey(item(of: machine)) { (_, item) in item.metadata.label }
    } catch {
      guard error.kind == .notFound || error.kind == .refused else { throw error }
      return nil
    }
  }
}
