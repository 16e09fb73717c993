import CofferTestSupport
import CofferMemory
import CofferPlatform
import Foundation
import Testing

@testable import CofferStorage

@Suite struct KeyTests {
  @Test func `a key's types and route are inferred from its declaration`() {
    let keys = AppKeys()
    let _: StorageKey<Theme, Plain> = keys.theme
    let _: StorageKey<String?, Plain> = keys.nickname
    let _: StorageKey<Sealed<AuthToken>?, Vault> = keys.token
    let _: StorageKey<String?, Vault> = keys.userID
    #expect(keys.token.traits.isSecret && keys.token.traits.endsWithSession)
    #expect(keys.theme.site.description.hasPrefix("CofferStorageTests/Samples.swift:"))
    #expect(keys.declaredKeys.map(\.name).prefix(3) == ["theme", "size", "launches"])
  }

  @Test func `a default reads only while nothing is stored`() throws {
    let bench = try Bench()
    #expect(try bench.app.value(for: bench.keys.theme) == .light)
    #expect(try bench.app.isDefault(bench.keys.theme))
    try bench.app.set(.light, for: bench.keys.theme)
    #expect(try bench.plain.load("theme") == .string("light"))
    #expect(try bench.app.contains(bench.keys.theme))
    try bench.app.set(.dark, for: bench.keys.theme)
    #expect(try bench.app.value(for: bench.keys.theme) == .dark)
    try bench.app.reset(bench.keys.theme)
    #expect(try bench.app.value(for: bench.keys.theme) == .light)
  }

  @Test func `setting nil removes`() throws {
    let bench = try Bench()
    try bench.app.set("Ada", for: bench.keys.nickname)
    try bench.app.set("u1", for: bench.keys.userID)
    #expect(try bench.app.value(for: bench.keys.nickname) == "Ada")
    #expect(try bench.app.value(for: bench.keys.userID) == "u1")
    try bench.app.set(nil, for: bench.keys.nickname)
    try bench.app.set(nil, for: bench.keys.userID)
    #expect(try bench.plain.names().isEmpty && bench.vault.names().isEmpty)
    #expect(try bench.app.value(for: bench.keys.nickname) == nil)
  }

  @Test func `a vaulted value is kept in the vault and handed out as it is`() throws {
    let bench = try Bench()
    try bench.app.set("u1", for: bench.keys.userID)
    try bench.app.set(41, for: bench.keys.count)
    try bench.app.update(bench.keys.count) { $0 = ($0 ?? 0) + 1 }
    #expect(try bench.app.value(for: bench.keys.count) == 42)
    #expect(try bench.vault.names() == ["count", "user_id"])
    #expect(try bench.plain.names().isEmpty)
  }

  @Test func `an undecodable value throws and stays as it is`() throws {
    let bench = try Bench()
    try bench.plain.save(.string("many"), for: "launches")
    let error = try expect(.undecodable(stored: "string")) { _ = try bench.app.value(for: bench.keys.launches) }
    #expect(error.key == "launches")
    #expect(!"\(error)".contains("many"))
    try expect(.undecodable(stored: "string")) { try bench.app.update(bench.keys.launches) { $0 += 1 } }
    #expect(try bench.plain.load("launches") == .string("many"))
    try bench.app.set("text", for: bench.keys.userID)
    let wrong = StorageKey("user_id", vaulted: Int.self)
    let other = try StorageRouter(plain: bench.plain, vault: bench.vault, spaces: [Space(wrong)])
    let sealed = try #require(throws: StoreError.self) { try other.value(for: wrong) }
    #expect(sealed.kind.isUndecodable && !"\(sealed)".contains("\"text\""))
    #expect(try bench.app.value(for: bench.keys.userID) == "text")
  }

  @Test func `an undecodable struct says which field`() throws {
    let bench = try Bench()
    try bench.plain.save(.dictionary(["width": .string("wide")]), for: "window")
    let error = try #require(throws: StoreError.self) { try bench.app.value(for: bench.keys.window) }
    #expect(error.what.contains("width") && !error.what.contains("wide"))
  }

  @Test func `useDefault reads the default, reports, and leaves the stored value alone`() throws {
    let bench = try Bench()
    try bench.plain.save(.string("many"), for: "lenient")
    #expect(try bench.app.value(for: bench.keys.lenient) == 7)
    #expect(try bench.plain.load("lenient") == .string("many"))
    #expect(Failures.shared.all.contains { $0.key == "lenient" && $0.kind.isUndecodable })
  }

  @Test func `a value that fails to encode leaves the stored one alone`() throws {
    let bench = try Bench()
    try bench.app.set(Stubborn(), for: bench.keys.stubborn)
    let before = try bench.plain.load("stubborn")
    let error = try expect(.unencodable) { try bench.app.set(Stubborn(fails: true), for: bench.keys.stubborn) }
    #expect(!"\(error)".contains("the-value-itself"))
    try expect(.unencodable) { try bench.app.update(bench.keys.stubborn) { $0.fails = true } }
    #expect(try bench.plain.load("stubborn") == before)
  }

  @Test func `a size limit refuses longer values of either store`() throws {
    let bench = try Bench()
    try bench.app.set("abcd", for: bench.keys.short)
    try expect(.tooLarge(limit: 4)) { try bench.app.set("abcde", for: bench.keys.short) }
    #expect(try bench.app.value(for: bench.keys.short) == "abcd")
    try bench.app.set(Sealed("1234"), for: bench.keys.pin)
    try expect(.tooLarge(limit: 4)) { try bench.app.set(Sealed("12345"), for: bench.keys.pin) }
  }

  @Test func `a secret expires at the moment its payload names`() throws {
    let bench = try Bench()
    try bench.app.set(Sealed(AuthToken(expiry: .now + 3600)), for: bench.keys.token)
    #expect(try bench.app.value(for: bench.keys.token)?.reveal().access == "hush")
    let metadata = try bench.vault.load("token")?.metadata
    #expect(metadata?.label == "API token")
    #expect(metadata?.attributes[ItemMetadata.endsWithSession] == "true")
    try bench.app.set(Sealed(AuthToken(expiry: .now - 1)), for: bench.keys.token)
    let error = try expect(.expired) { _ = try bench.app.value(for: bench.keys.token) }
    #expect(error.key == "token")
    #expect(try bench.app.contains(bench.keys.token))
    try bench.app.set(Sealed(AuthToken()), for: bench.keys.token)
    #expect(try bench.app.value(for: bench.keys.token) != nil)
  }
}

struct Space<V: Sendable, R: Route>: KeySpace {
  let key: StorageKey<V, R>
  init(_ key: StorageKey<V, R>) { self.key = key }
}
