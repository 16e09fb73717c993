/// What a store is opened for.
public enum DefaultsAccess: Sendable {
  /// Reading and writing; the journal is made if there is none, for it holds the lock of all writers.
  case readWrite
  /// Reading without a trace: no folder, no journal and no change to either. Writes throw
  /// ``/CofferPlatform/StoreError/Kind/readOnly``.
  ///
  /// What other processes acknowledge is seen all the same, by the next read.
  case readOnly
}
