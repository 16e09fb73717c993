public import Coffer
public import CofferDefaults
public import CofferStorage
public import CofferVault
internal import Foundation
internal import SystemPackage

/// A separate folder for real stores: property lists, a vault that opens at once, and no user data. It is removed with this
/// object, once its property lists are up to date, so that no store still writes to them.
public final class TestHome: Sendable {
  /// The home of the running test, from a trait or ``withCurrent(_:)``.
  @TaskLocal public static var current: TestHome?

  /// The places of the home's files.
  public let places: Places
  /// The passphrase of ``makeVault(service:)``'s vault.
  public static let passphrase = "correct horse"

  /// A home in the folder for temporary files.
  ///
  /// - Throws: the errors of making a folder.
  public init() throws {
    let folder = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
      .appendingPathComponent("coffer-test-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    places = Places(home: FilePath(folder.path))
  }

  deinit {
    guard let home = places.home else { return }
    do throws(StoreError) {
      for domain in try DefaultsDomain.list(in: places.defaults) { settle(domain) }
    } catch { print("could not wait for the stores in \(home): \(error)") }
    do { try FileManager.default.removeItem(atPath: home.string) } catch { print("left behind: \(home): \(error)") }
  }

  /// Waits for a running fold, and leaves nothing for a later one. A list that does not open, perhaps because the test damaged
  /// it, is not folded.
  private func settle(_ domain: DefaultsDomain) {
    do throws(StoreError) { try DefaultsStore.open(domain: domain.name, in: domain.folder).close() } catch {}
  }

  /// Runs `body` with a new home as ``current``.
  public static func withCurrent<Result>(_ body: () async throws -> Result) async throws -> Result {
    try await $current.withValue(TestHome()) { try await body() }
  }

  /// The credentials of the vault.
  public func credentials() throws(StoreError) -> Credentials {
    do throws(SecretMemoryError) {
      var passphrase = try SecretBytes(zeros: Self.passphrase.utf8.count)
      passphrase.withUnsafeMutableBytes { $0.copyBytes(from: Self.passphrase.utf8) }
      return Credentials(passphrase: passphrase)
    } catch {
      throw StoreError(.memory, "guarded memory ran out", cure: "free memory", underlying: error)
    }
  }

  /// The home's vault as the store of `service`, unlocked. The first call makes it with the lowest passphrase cost that a
  /// vault accepts: about 10 ms instead of half a second.
  public func makeVault(service: String) throws(StoreError) -> VaultStore {
    if FileManager.default.fileExists(atPath: places.vault.description) {
      let store = try VaultStore(service: service, vault: places.openVault())
      try store.unlock(with: credentials())
      return store
    }
    let vault = try UnlockedVault.create(
      at: places.vault, with: credentials(), cost: .testing, options: places.vaultOptions)
    return try VaultStore(service: service, vault: vault)
  }

  /// The plain store of `domain`, with the test's launch arguments: `["-theme", "dark"]`.
  public func openDefaults(_ domain: String, arguments: [String] = []) throws(StoreError) -> DefaultsStore {
    try places.openDefaults(domain, overrides: Overrides(arguments: arguments))
  }

  /// A router over both real stores of this home.
  ///
  /// - Parameters:
  ///   - domain: the app's name.
  ///   - spaces: every key space that will be used with this router.
  ///   - arguments: launch arguments that override preferences.
  public func open(
    _ domain: String, keys spaces: any KeySpace..., arguments: [String] = []
  ) throws(StoreError) -> StorageRouter {
    try StorageRouter(plain: openDefaults(domain, arguments: arguments), vault: makeVault(service: domain), spaces: spaces)
  }
}
