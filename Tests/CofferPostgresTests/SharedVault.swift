import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import CofferVaultRows
import Foundation
import SystemPackage
import Testing

@testable import CofferPostgres

struct SharedVault {
  let server: DatabaseServer
  let url: String
  let key: SecretForm
  let folder: TestFolder

  /// Skips the test if PostgreSQL is not installed.
  init(on server: DatabaseServer? = nil, options: String = "") throws {
    let server = try server ?? DatabaseServer.shared
    PostgresVaults.use()
    self.server = server
    url = server.place("v\(UInt64.random(in: 0 ... .max))", options)
    key = SecretForm(try KeyFile.generate())
    folder = try TestFolder("shared")
  }

  var place: VaultPlace { VaultPlace(url) }
  var schema: String { "coffer_\(url.drop { $0 != "#" }.dropFirst())" }
  var pins: VaultOptions { VaultOptions(pins: folder.path.appending("pins")) }

  func grant(_ role: String, _ access: ServerRole.Access) throws {
    #expect(try place.grant([ServerRole(name: role, access: access)]).isEmpty)
  }

  func keepRows(_ name: String) throws {
    let copies = PostgresSchema.names.map { "CREATE TABLE \(schema)_\(name).\($0) AS SELECT * FROM \(schema).\($0)" }
    try server.sql("CREATE SCHEMA \(schema)_\(name); \(copies.joined(separator: "; "))")
  }

  func putBack(_ name: String, _ tables: [String] = PostgresSchema.names) throws {
    let all = tables.map { "DELETE FROM \(schema).\($0); INSERT INTO \(schema).\($0) SELECT * FROM \(schema)_\(name).\($0)" }
    try server.sql("BEGIN; \(all.joined(separator: "; ")); COMMIT")
  }

  func credentials() throws -> Credentials { Credentials(keyFile: try key.bytes.duplicate()) }

  @discardableResult
  func create(_ options: VaultOptions = .withoutPins) throws -> UnlockedVault {
    try UnlockedVault.create(at: place, with: credentials(), options: options)
  }

  func unlock(_ options: VaultOptions = .withoutPins) throws -> UnlockedVault {
    try LockedVault.open(place, options: options).unlock(with: credentials())
  }

  /// The path of a file with the key, for other processes.
  func keyPath() throws -> String {
    let path = folder.path.appending("key").string
    try key.bytes.withUnsafeBytes { try Data($0).write(to: URL(fileURLWithPath: path)) }
    chmod(path, 0o600)
    return path
  }
}

func name(_ account: String) throws -> ItemName { try ItemName(service: "s", account: account) }

func form(_ text: String) throws -> SecretForm {
  SecretForm(
    try Array(text.utf8).span.bytes.withUnsafeBytes { (bytes) throws(SecretMemoryError) in try SecretBytes(copying: bytes) })
}

func text(_ form: SecretForm?) -> String? { form.map { $0.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } } }

func kind(_ body: () throws -> Void) -> StoreError.Kind? {
  do { try body() } catch { return (error as? StoreError)?.kind }
  return nil
}

/// Another writer's turn, which ends with ``end()``.
final class ForeignTurn {
  // More patient than a vault: the server ends a transaction that is idle longer than its client's patience.
  private let session: PostgresSession
  private let connection: PostgresConnection

  init(_ shared: SharedVault) throws {
    session = PostgresSession(try PostgresPlace(shared.url), patience: 120_000)
    connection = try session.open()
    try connection.perform("BEGIN", until: session.deadline)
    try connection.perform("SELECT 1 FROM \(shared.schema).state FOR UPDATE", until: session.deadline)
    _ = try connection.answers(until: session.deadline)
  }

  func end() {
    connection.rollBack(until: session.deadline)
    session.close()
  }
}

/// A vault for several threads.
final class Held: Sendable {
  let vault: UnlockedVault
  init(_ vault: consuming UnlockedVault) { self.vault = vault }
}
