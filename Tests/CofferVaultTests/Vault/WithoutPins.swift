import CofferPlatform
import CofferStorage
import SystemPackage

@testable import CofferVault

// Most tests of a vault are of its file alone. Those of pins say which.
extension LockedVault {
  static func open(_ path: FilePath) throws(StoreError) -> LockedVault { try open(path, options: .withoutPins) }
}

extension UnlockedVault {
  static func create(
    at path: FilePath, with credentials: consuming Credentials, cost: PassphraseCost? = nil, label: String = ""
  ) throws(StoreError) -> UnlockedVault {
    try create(at: path, with: credentials, cost: cost, label: label, options: .withoutPins)
  }
}

extension RestorableBackup {
  consuming func restore(with credentials: consuming Credentials) throws(StoreError) -> RestoreReport {
    try restore(with: credentials, options: .withoutPins)
  }
}
