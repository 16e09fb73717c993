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
  var options: VaultOptions { VaultOptions(pins: folder.path.appending("pins"), lockFolder: folder.path) }
  /// This machine's clock for remotes, in whole seconds.
  var now = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded())
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
    let options = syncOptions(edit)
    let store = try store
    let vault = try unlock()
    return try store.run(vault, options, with: others)
  }

  private func syncOptions(_ edit: (inout SyncOptions) -> Void) -> SyncOptions {
    var options = SyncOptions(machine: name)
    edit(&options)
    return options
  }

  var store: VaultSync {
    get throws {
      var sync = try VaultSync(remote, pins: folder.path.appending("pins"), caches: folder.path.appending("cache"))
      let now = now
      sync.clock = { now }
      return sync
    }
  }

  var id: VaultID { get throws { try locked.id } }
  var locked: LockedVault { get throws { try LockedVault.open(.file(file), options: options) } }

  /// A machine without a vault.
  static func empty(_ name: String, _ remote: String) throws -> Laptop { try Laptop(name, remote) }

  @discardableResult
  func clone(
    _ credentials: consuming Credentials? = nil, _ edit: (inout SyncOptions) -> Void = { _ in }
  ) throws -> SyncReport {
    let options = syncOptions(edit)
    let given = if let credentials { credentials } else { try PutVault.credentials() }
    return try store.clone(to: file, with: given, options: self.options, options)
  }

  func set(_ account: String, _ value: String, marked attributes: [String: String] = [:]) throws {
    try withVault { vault in
      let form = SecretForm(try secret(Array(value.utf8)), metadata: ItemMetadata(attributes: attributes))
      _ = try vault.set(form, for: ItemName(service: "web", account: account))
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
