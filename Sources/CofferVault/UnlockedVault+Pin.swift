public import CofferPlatform
internal import CofferStorage

extension UnlockedVault {
  /// What comparing the vault with this machine's pin has shown since it was unlocked.
  public borrowing func pinStatus() throws(StoreError) -> PinStatus {
    try core.run { (vault) throws(StoreError) in vault.view.pins?.status ?? .none }
  }
}
