import CofferTestSupport
import CofferPlatform
import CofferStorage
import Foundation
import Testing
import SystemPackage

@testable import CofferVault
@testable import CofferVaultFormat
@testable import CofferVaultRows

/// A vault with pins next to it, in a folder that acts as the machine's memory.
final class PinnedVault {
  let place: TemporaryVault
  let pins: FilePath
  let name: ItemName

  init(writes: Int = 3) throws {
    place = try TemporaryVault()
    pins = place.folder.appending("pins")
    name = try ItemName(service: "svc", account: "a")
    let vault = try UnlockedVault.create(at: place.path, with: TemporaryVault.credentials(), options: options)
    for number in 0..<writes { try vault.set(form("value \(number)"), for: name) }
    _ = try vault.lock()
  }

  var options: VaultOptions { VaultOptions(pins: pins) }
  var locked: LockedVault { get throws { try LockedVault.open(place.path, options: options) } }
  func unlock() throws -> UnlockedVault { try locked.unlock(with: TemporaryVault.credentials()) }
  func write(_ text: String) throws { try unlock().set(form(text), for: name) }
  func accept() throws -> UnlockedVault { try locked.unlockAcceptingPin(with: TemporaryVault.credentials()) }

  /// The kind that unlocking throws; nil if it opens.
  func refusal() throws -> StoreError.Kind? { kind { _ = try unlock() } }

  func bytes() throws -> Data { try Data(contentsOf: URL(fileURLWithPath: place.path.string)) }

  func replace(with bytes: Data) throws {
    for suffix in ["-wal", "-shm"] { unlink(place.path.string + suffix) }
    try bytes.write(to: URL(fileURLWithPath: place.path.string), options: [])
    chmod(place.path.string, 0o600)
  }

  func pin(_ prefix: String) throws -> FilePath {
    let names = try FileManager.default.contentsOfDirectory(atPath: pins.string).filter { $0.hasPrefix(prefix) }
    return pins.appending(names.first ?? "none")
  }

  func content(_ pin: FilePath) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: pin.string)) }

  /// Writes a pin in place, as Coffer does.
  func put(_ content: Data, _ pin: FilePath) throws {
    let file = try FileDescriptor.open(pin, .writeOnly, options: [.create, .truncate], permissions: .ownerReadWrite)
    try file.closeAfter { _ = try content.withUnsafeBytes { try file.writeAll($0) } }
  }
}
