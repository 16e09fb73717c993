internal import CofferPlatform
internal import CofferStorage

extension OpenVault {
  /// Commits that this state was put back: its generation is above all that this machine knows of, so that nobody who saw
  /// the newer history takes it for an old file.
  func commitRestored(above known: UInt64, as replica: ReplicaID, after former: ReplicaID?) throws(StoreError) {
    try write { (change) throws(StoreError) in
      change.events.append(LogEntry(.restored, by: .current, time: now))
      change.leastGeneration = try checked { () throws(FormatError) in try FileCounter.next(known, VaultState.part) }
      change.replica = replica
      change.formerReplica = former
    }
  }

  /// The state of the vault at hand where these keys open it; what a file of the same vault and epoch states counts only then, as
  /// anyone could have written it.
  func state(of other: VaultDatabase) throws(StoreError) -> VaultState? {
    try other.read { () throws(StoreError) in
      do throws(StoreError) {
        let (header, digest) = try Self.readHeader(other)
        guard header.vault == self.header.vault else { return nil }
        return try Self.readState(other, header, digest, keys)
      } catch {
        // A current vault that is damaged, tampered with or of another key is why a backup is put back.
        guard error.kind == .damaged || error.kind == .tampered else { throw error }
        return nil
      }
    }
  }
}
