import CofferMemory
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault

/// A vault written by an earlier build, read by this one. `COFFER_WRITE_FIXTURES=1` writes it anew, which is allowed only while
/// the format is a draft: a released format's vaults are never edited.
@Suite struct GoldenVaultTests {
  static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Fixtures/Vaults/v1-draft")

  struct Golden { let service: String, account: String, value: [UInt8], metadata: ItemMetadata }

  static let items: [Golden] = [
    Golden(
      service: "github.com", account: "octocat", value: Array("ghp_0123456789".utf8),
      metadata: ItemMetadata(label: "CI token", contentType: "text/plain", attributes: ["env": "ci", "scope": "repo"])),
    Golden(service: "empty", account: "", value: [], metadata: ItemMetadata()),
    Golden(service: "caf\u{e9}", account: "\u{1F511}", value: (0...255).map { UInt8($0) }, metadata: ItemMetadata()),
    Golden(
      service: "com.example.app", account: "token", value: [UInt8](repeating: 7, count: 5000),
      metadata: ItemMetadata(
        contentType: "application/json", attributes: [ItemMetadata.endsWithSession: "true"],
        expires: Date(timeIntervalSince1970: 4_102_444_800))),
  ]

  @Test func theDraftVaultReadsAsItWasWritten() throws {
    let isWriting = ProcessInfo.processInfo.environment["COFFER_WRITE_FIXTURES"] != nil
    if isWriting { try write() }
    let place = try TemporaryVault()
    try FileManager.default.copyItem(
      atPath: Self.folder.appending(path: "vault.sqlite").path, toPath: place.path.string)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: place.path.string)
    let locked = try LockedVault.open(place.path)
    #expect(locked.formatVersion == 1)
    #expect(locked.slots.map(\.kind) == [.keyFile])
    let vault = try place.unlock()
    for item in Self.items {
      let form = try #require(try vault.get(ItemName(service: item.service, account: item.account)))
      #expect(form.bytes.withUnsafeBytes { Array($0) } == item.value)
      #expect(form.metadata == item.metadata)
    }
    #expect(try vault.list().count == Self.items.count)
    #expect(try vault.verify().records == Self.items.count)
    #expect(try vault.status().slots.map(\.label) == ["golden"])
  }

  private func write() throws {
    try FileManager.default.createDirectory(at: Self.folder, withIntermediateDirectories: true)
    let place = try TemporaryVault()
    let vault = try UnlockedVault.create(at: place.path, with: TemporaryVault.credentials(), label: "golden")
    for item in Self.items {
      try vault.set(
        SecretForm(secret(item.value), metadata: item.metadata),
        for: ItemName(service: item.service, account: item.account))
    }
    _ = try vault.lock()
    let target = Self.folder.appending(path: "vault.sqlite")
    if FileManager.default.fileExists(atPath: target.path) { try FileManager.default.removeItem(at: target) }
    try FileManager.default.copyItem(atPath: place.path.string, toPath: target.path)
    try Data(TemporaryVault.keyFile.utf8).write(to: Self.folder.appending(path: "vault.key"))
  }
}
