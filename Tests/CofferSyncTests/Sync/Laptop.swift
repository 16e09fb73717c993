import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import CofferVaultRows
import Foundation
import SystemPackage
import Testing

@testable import CofferSync

/// A machine with its own copy of the vault, its pins and its cache.
final class Laptop {
  let folder: TestFolder
  let name: String
  let remote: String
  private var options: VaultOptions { VaultOptions(pins: folder.path.appending("pins"), lockFolder: folder.path) }
  var file: FilePath { folder.path.appending("v") }
  /// What opens the vault here.
  var credentials: () throws -> Credentials = PutVault.credentials

  private init(_ name: String, _ remote: String) throws {
    (self.name, self.remote) = (name, remote)
    folder = try TestFolder("sync-\(name)")
  }

  /// A machine with a new vault.
  static func first(_ name: String, _ remote: String) throws -> Laptop {
    let laptop = try Laptop(name, remote)
    _ = try UnlockedVault.create(at: .file(laptop.file), with: PutVault.credentials(), options: laptop.options)
    return laptop
  }

  /// A machine with a copy of this one's vault.
  func another(_ name: String) throws -> Laptop {
    let laptop = try Laptop(name, remote)
    laptop.credentials = credentials
    _ = try LockedVault.open(.file(file), options: options).backup(to: laptop.file)
    return laptop
  }

  private func unlock() throws -> UnlockedVault {
    try LockedVault.open(.file(file), options: options).unlock(with: credentials())
  }

  func withVault<Result>(_ body: (borrowing UnlockedVault) throws -> Result) throws -> Result { try body(unlock()) }

  @discardableResult
  func sync(
    with others: consuming Credentials? = nil, _ edit: (inout SyncOptions) -> Void = { _ in }
  ) throws -> SyncReport {
    var options = SyncOptions(machine: name)
    edit(&options)
    let (remote, pins, caches) = (remote, folder.path.appending("pins"), folder.path.appending("cache"))
    let vault = try unlock()
    return try VaultSync(remote, pins: pins, caches: caches).run(vault, options, with: others)
  }

  func set(_ account: String, _ value: String) throws {
    try withVault { vault in
      _ = try vault.set(secret(Array(value.utf8)), for: ItemName(service: "web", account: account))
    }
  }

  func delete(_ account: String, forGood: Bool = false) throws {
    try withVault { vault in
      _ = try vault.remove(ItemName(service: "web", account: account), keptUntil: forGood ? nil : .distantFuture)
    }
  }

  func value(_ account: String) throws -> String? {
    try withVault { vault in
      try vault.get(ItemName(service: "web", account: account)).map { form in
        String(decoding: form.bytes.withUnsafeBytes { Array($0) }, as: UTF8.self)
      }
    }
  }
}
