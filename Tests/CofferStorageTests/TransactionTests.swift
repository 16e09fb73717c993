import CofferTestSupport
import CofferPlatform
import Foundation
import Testing

@testable import CofferStorage

@Suite struct TransactionTests {
  struct Complaint: Error, Equatable { let number: Int }

  @Test func `writes to both stores happen together`() throws {
    let bench = try Bench()
    let result = try bench.app.transaction { tx in
      try tx.set("u1", for: bench.keys.userID)
      try tx.set(.dark, for: bench.keys.theme)
      #expect(try bench.plain.names().isEmpty && bench.vault.names().isEmpty)
      return 7
    }
    #expect(result == 7)
    let values = try bench.app.values(bench.keys.userID, bench.keys.theme)
    expectValues(values, "u1", .dark)
  }

  @Test func `a transaction reads its own writes`() throws {
    let bench = try Bench()
    try bench.app.set("old", for: bench.keys.userID)
    try bench.app.transaction { tx in
      try tx.set(5, for: bench.keys.launches)
      try tx.update(bench.keys.launches) { $0 += 1 }
      #expect(try tx.value(for: bench.keys.launches) == 6)
      try tx.remove(bench.keys.userID)
      #expect(try tx.value(for: bench.keys.userID) == nil)
      #expect(try tx.value(for: bench.keys.theme) == .light)
    }
    #expect(try bench.app.value(for: bench.keys.launches) == 6)
    #expect(try !bench.app.contains(bench.keys.userID))
  }

  @Test func `a closure's error comes back unchanged and nothing is written`() throws {
    let bench = try Bench()
    let error = #expect(throws: Complaint.self) {
      try bench.app.transaction { tx in
        try tx.set("u1", for: bench.keys.userID)
        try tx.update(bench.keys.launches) { $0 += 1 }
        throw Complaint(number: 4)
      }
    }
    #expect(error == Complaint(number: 4))
    #expect(try bench.plain.names().isEmpty && bench.vault.names().isEmpty)
  }

  @Test func `an update that throws inside a transaction leaves the transaction's value`() throws {
    let bench = try Bench()
    try bench.app.transaction { tx in
      try tx.set(5, for: bench.keys.launches)
      #expect(throws: Complaint.self) {
        try tx.update(bench.keys.launches) {
          $0 = 9
          throw Complaint(number: 1)
        }
      }
    }
    #expect(try bench.app.value(for: bench.keys.launches) == 5)
  }

  @Test(arguments: [true, false])
  func `a conflict runs the closure again`(inVault: Bool) throws {
    let bench = try Bench()
    let other = try StorageRouter(plain: bench.app.plain, vault: bench.app.vault, keys: bench.keys)
    var runs = 0
    try bench.app.transaction { tx in
      runs += 1
      let seen = inVault ? try tx.value(for: bench.keys.count) ?? 0 : try tx.value(for: bench.keys.launches)
      if runs <= 2 {
        if inVault { try other.set(runs, for: bench.keys.count) } else { try other.set(runs, for: bench.keys.launches) }
      }
      try tx.set("seen \(seen)", for: bench.keys.nickname)
      try tx.set("seen \(seen)", for: bench.keys.userID)
    }
    #expect(runs == 3)
    let values = try bench.app.values(bench.keys.nickname, bench.keys.userID)
    expectValues(values, "seen 2", "seen 2")
  }

  @Test func `after sixteen conflicts it is busy and nothing is written`() throws {
    let bench = try Bench()
    let other = try StorageRouter(plain: bench.app.plain, vault: bench.app.vault, keys: bench.keys)
    var runs = 0
    try expect(.busy) {
      try bench.app.transaction { tx in
        runs += 1
        _ = try tx.value(for: bench.keys.launches)
        try other.set(runs, for: bench.keys.launches)
        try tx.set("x", for: bench.keys.userID)
      }
    }
    #expect(runs == 16)
    #expect(try !bench.app.contains(bench.keys.userID))
  }

  @Test func `an error over stale reads is not reported`() throws {
    let bench = try Bench()
    let other = try StorageRouter(plain: bench.app.plain, vault: bench.app.vault, keys: bench.keys)
    var runs = 0
    try bench.app.transaction { tx in
      runs += 1
      let launches = try tx.value(for: bench.keys.launches)
      if runs == 1 { try other.set(1, for: bench.keys.launches) }
      guard launches == 1 else { throw Complaint(number: launches) }
      try tx.set("done", for: bench.keys.userID)
    }
    #expect(runs == 2)
    #expect(try bench.app.value(for: bench.keys.userID) == "done")
  }

  @Test func `a closure that throws a conflict of its own runs once`() throws {
    let bench = try Bench()
    var runs = 0
    try expect(.conflict) {
      try bench.app.transaction { _ in
        runs += 1
        throw StoreError(.conflict, "mine", cure: "none")
      }
    }
    #expect(runs == 1)
  }

  @Test func `only plain keys never touch the vault`() throws {
    let keys = AppKeys()
    let app = try StorageRouter(plain: MemoryStore<Plain>(), vault: FaultyVault(fails: .locked, at: .everything), keys: keys)
    try app.transaction { tx in
      try tx.set(.dark, for: keys.theme)
      try tx.update(keys.launches) { $0 += 1 }
    }
    let values = try app.values(keys.theme, keys.launches)
    expectValues(values, .dark, 1)
    let error = try expect(.locked) { _ = try app.values(keys.theme, keys.userID, keys.count) }
    #expect(error.key == "user_id")
  }

  @Test func `only vault keys never touch the plain store`() throws {
    let bench = try Bench()
    // The plain store is inside its own commit here, and holds its lock: a call to it would not return.
    let decision = Decision(place: "memory") { (_) throws(StoreError) in
      do {
        try bench.app.transaction { tx in try tx.update(bench.keys.count) { $0 = ($0 ?? 0) + 1 } }
      } catch { throw StoreError(.refused, "failed", cure: "none", underlying: error) }
    }
    try bench.plain.commit(Batch<Plain>(), decision: decision)
    #expect(try bench.app.value(for: bench.keys.count) == 1)
  }

  @Test func `a vault that fails to commit leaves both stores as they were`() throws {
    let keys = AppKeys()
    let plain = MemoryStore<Plain>()
    let app = try StorageRouter(plain: plain, vault: FaultyVault(fails: .noSpace, at: .commit), keys: keys)
    try app.set(.dark, for: keys.theme)
    let error = try expect(.noSpace) {
      try app.transaction { tx in
        try tx.set(.light, for: keys.theme)
        try tx.set(Sealed("1234"), for: keys.pin)
      }
    }
    #expect(error.kind == .noSpace)
    #expect(try app.value(for: keys.theme) == .dark)
    #expect(try app.value(for: keys.pin) == nil)
  }

  @Test func `a former value that cannot be moved stays where a write in its place fails`() throws {
    let plain = MemoryStore<Plain>()
    try plain.save(.integer(5), for: "token")
    try plain.save(.string("elsewhere"), for: "old_token")
    struct Pass: Codable, Sendable { var word = "" }
    let key = StorageKey("token", secret: Pass.self).renamed(from: "old_token")
    let app = try StorageRouter(plain: plain, vault: FaultyVault(fails: .noSpace, at: .commit), keys: Space(key))
    let failing: [() throws -> Void] = [
      { try app.set(Sealed(Pass()), for: key) },
      { try app.remove(key) },
      { try app.transaction { try $0.set(Sealed(Pass()), for: key) } },
      { try app.transaction { try $0.remove(key) } },
    ]
    for write in failing {
      #expect(try expect(.noSpace, write).kind == .noSpace)
      #expect(try plain.names() == ["old_token", "token"])
    }
    struct Changed: Error {}
    #expect(throws: Changed.self) {
      try app.transaction { tx in
        try tx.set(Sealed(Pass()), for: key)
        throw Changed()
      }
    }
    #expect(try plain.names() == ["old_token", "token"] && !app.migrations.pending.isEmpty)
  }

  @Test func `a former value that cannot be moved leaves in the transaction that replaces it, which reads its own value`() throws
  {
    let plain = MemoryStore<Plain>()
    try plain.save(.string("seven"), for: "old")
    struct NoNumber: Error {}
    let key = StorageKey("new", default: 0).renamed(from: "old").upgraded(from: String.self) {
      guard let number = Int($0) else { throw NoNumber() }
      return number
    }
    let app = try StorageRouter(plain: plain, vault: MemoryStore<Vault>(), keys: Space(key))
    try app.transaction { tx in
      try tx.set(7, for: key)
      #expect(try tx.value(for: key) == 7)
      try tx.update(key) { $0 += 1 }
      #expect(try plain.names() == ["old"])
    }
    #expect(try plain.names() == ["new"] && app.value(for: key) == 8)
    #expect(app.migrations.pending.isEmpty)
  }

  @Test func `a decided transaction is forgotten once both stores have it`() throws {
    let keys = AppKeys()
    let vault = FaultyVault(fails: .noSpace, at: .nothing)
    let app = try StorageRouter(plain: MemoryStore<Plain>(), vault: vault, keys: keys)
    try app.transaction { tx in
      try tx.set(.dark, for: keys.theme)
      try tx.set("u1", for: keys.userID)
    }
    #expect(vault.decided.count == 1)
    #expect(vault.forgotten == vault.decided)
  }

  @Test func `a record that cannot be dropped fails no transaction`() throws {
    let keys = AppKeys()
    let app = try StorageRouter(plain: MemoryStore<Plain>(), vault: FaultyVault(fails: .busy, at: .forget), keys: keys)
    try app.transaction { tx in
      try tx.set(.dark, for: keys.theme)
      try tx.set("u1", for: keys.userID)
    }
    let values = try app.values(keys.theme, keys.userID)
    expectValues(values, .dark, "u1")
  }

  @Test func `writes on one side record no decision, and reads on the other are checked`() throws {
    let keys = AppKeys()
    let vault = FaultyVault(fails: .noSpace, at: .nothing)
    let app = try StorageRouter(plain: MemoryStore<Plain>(), vault: vault, keys: keys)
    try app.set(3, for: keys.launches)
    try app.transaction { tx in try tx.set(tx.value(for: keys.launches), for: keys.count) }
    try app.transaction { tx in try tx.set((tx.value(for: keys.count) ?? 0) + 1, for: keys.launches) }
    let values = try app.values(keys.launches, keys.count)
    expectValues(values, 4, 3)
    #expect(vault.decided.isEmpty)
  }

  @Test func `a transaction that escapes its closure is over`() throws {
    let bench = try Bench()
    var escaped: Transaction?
    try bench.app.transaction { escaped = $0 }
    let transaction = try #require(escaped)
    try expect(.closed) { try transaction.set(.dark, for: bench.keys.theme) }
    try expect(.closed) { _ = try transaction.value(for: bench.keys.theme) }
  }

  @Test func `a locked vault fails a transaction that needs it, with nothing written`() throws {
    let keys = AppKeys()
    let app = try StorageRouter(plain: MemoryStore<Plain>(), vault: FaultyVault(fails: .locked, at: .everything), keys: keys)
    try expect(.locked) {
      try app.transaction { tx in
        try tx.set(.dark, for: keys.theme)
        try tx.set("u1", for: keys.userID)
      }
    }
    #expect(try !app.contains(keys.theme))
  }

  @Test func `a plain store that breaks after the decision reports it as pending, and the record stays`() throws {
    let keys = AppKeys()
    let vault = FaultyVault(fails: .noSpace, at: .nothing)
    let app = try StorageRouter(plain: BreakingPlain(), vault: vault, keys: keys)
    let error = try #require(throws: StoreError.self) {
      try app.transaction { tx in
        try tx.set(.dark, for: keys.theme)
        try tx.set("u1", for: keys.userID)
      }
    }
    #expect(error.kind == vault.decided.first.map(StoreError.Kind.pending))
    #expect((error.underlying as? StoreError)?.kind == .noSpace)
    #expect(vault.forgotten.isEmpty)
    // With nothing to write there, nothing is pending: the vault has all of it.
    try app.transaction { tx in
      _ = try tx.value(for: keys.launches)
      try tx.set("u2", for: keys.userID)
    }
    #expect(try app.value(for: keys.userID) == "u2")
  }
}
