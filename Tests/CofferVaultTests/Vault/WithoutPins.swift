import CofferPlatform
import CofferStorage
import SystemPackage

@testable import CofferVault
@testable import CofferVaultFormat

// Most vault tests are about the file alone, and use its path. Tests of pins name theirs.
extension LockedVault {
  static func open(_ path: FilePath, options: VaultOptions = .withoutPins) throws(StoreError) -> LockedVault {
    try open(.file(path), options: options)
  }
}

extension UnlockedVault {
  static func create(
    at path: FilePath, with credentials: consuming Credentials, cost: PassphraseCost? = nil, label: String = "",
    options: VaultOptions = .withoutPins
  ) throws(StoreError) -> UnlockedVault {
    try create(at: .file(path), with: credentials, cost: cost, label: label, options: options)
  }

  borrowing func export(
    to target: FilePath, services: [String]? = nil, with credentials: consuming Credentials, cost: PassphraseCost = .standard,
    label: String = ""
  ) throws(StoreError) -> Int {
    try export(to: .file(target), services: services, with: credentials, cost: cost, label: label)
  }
}

extension RestorableBackup {
  init(_ file: FilePath, toRestoreAt path: FilePath) throws(StoreError) { try self.init(file, toRestoreAt: .file(path)) }

  consuming func restore(with credentials: consuming Credentials) throws(StoreError) -> RestoreReport {
    try restore(with: credentials, options: .withoutPins)
  }
}
