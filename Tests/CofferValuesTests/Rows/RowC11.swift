internal import CofferValues
internal import Foundation
internal import Testing

// This file imports one product of the package, and uses handles on stores of both routes.

@Suite struct RowC11 {
  private enum Tint: String, PlainValue { case warm, cold }

  @Test func `C11 one import is enough`() throws {
    let handle: AnyPersistedValue<Int> = AnyPersistedValue(get: { 1 }, set: { _ in })
    #expect(handle.wrappedValue == 1)
    let plain: any Store<Plain> = CacheStore<Plain>(limit: 2)
    let tint = plain.persistedValue(for: StorageKey("tint", default: Tint.cold))
    tint.wrappedValue = .warm
    #expect(tint.wrappedValue == .warm)
    let secret = MemoryStore<Vault>().persistedValue(for: StorageKey("token", secret: String.self))
    try secret.save(Sealed("t"))
    #expect(try secret.load()?.reveal() == "t")
    do throws(StoreError) { try plain.save(.string("blue"), for: "tint") } catch { Issue.record(error) }
    #expect(throws: StoreError.self) { try tint.load() }
  }
}
