import CofferTestSupport
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat
@testable import CofferVaultRows

/// Vaults with rows swapped, deleted, doubled, or taken from another vault or its own past. To SQLite all are valid.
@Suite(.tags(.campaign), .wholeRun)
struct RowForgeryCampaign {
  /// Works through `cases` on as many threads as the machine can spare.
  private func each(_ forge: Forge, every: Int = 1, _ cases: [(Forger) throws -> Void]) -> Tally {
    let workers = Campaign.isLong ? 2 : 1
    let tallies = Collected()
    let work = Unchecked((forge, cases))
    Campaign.concurrently(workers) { worker in
      let (forge, cases) = work.value
      let forger = try Forger(forge, every: every)
      for (number, run) in cases.enumerated() where number % workers == worker { try run(forger) }
      tallies.add(forger.tally)
    }
    return tallies.all
  }

  @Test func `rows of one vault`() throws {
    let forge = try Forge(items: Campaign.size(short: 5, long: 200), versions: 1)
    // Only a check of all rows detects a changed previous content: no item's answer depends on it.
    let rows = zip(forge.rows.indices, forge.rows).map { ($1, forge.items([$0])) } + forge.former.map { ($0, forge.items([])) }
    var cases: [(Forger) throws -> Void] = []
    for first in rows.indices {
      for second in rows.indices where second > first {
        let ((one, asked), (two, alsoAsked)) = (rows[first], rows[second])
        let both = asked.merging(alsoAsked) { $1 }
        cases.append { forger in
          try forger.forge("\(one.holding(two).put);\(two.holding(one).put)", "contents of two rows swapped", asking: both)
        }
        for column in ["rid", "meta", "value"] {
          cases.append { forger in
            try forger.forge(
              "\(one.set(column, of: two));\(two.set(column, of: one))", "\(column) of two rows swapped", asking: both)
          }
        }
      }
    }
    for (number, (row, asked)) in rows.enumerated() {
      let (next, _) = rows[(number + 1) % rows.count]
      let table = row.table
      let other = table == "rec" ? "old" : "rec"
      let near = "\(row.idx.dropLast(3))\(row.idx.hasSuffix("00'") ? "01" : "00")'"
      let far = "\(row.idx.dropLast(34))'\(row.idx.dropFirst(2).hasPrefix("00") ? "ff" : "00")\(row.idx.dropFirst(4))"
      for (group, sql) in [
        ("a row deleted", row.delete),
        ("a row deleted with its digest", "\(row.delete); DELETE FROM digest WHERE bucket=\(row.bucket)"),
        ("a digest deleted", "DELETE FROM digest WHERE bucket=\(row.bucket)"),
        ("a value taken away", "UPDATE \(table) SET value=NULL WHERE idx=\(row.idx)"),
        ("a row doubled beside itself", row.at(near).put),
        ("a row doubled elsewhere", row.at(far).put),
        ("a row doubled in the other table", row.at(row.idx, in: other).put),
        ("a row moved to the other table", "\(row.at(row.idx, in: other).put); \(row.delete)"),
        ("a row in another's place", next.holding(row).put),
        ("a row moved", "UPDATE \(table) SET idx=\(far) WHERE idx=\(row.idx)"),
        ("meta and value exchanged", "UPDATE \(table) SET meta=value, value=meta WHERE idx=\(row.idx)"),
      ] {
        cases.append { try $0.forge(sql, "\(table): \(group)", asking: asked) }
      }
    }
    each(forge, every: 5, cases).report("rows of one vault")
  }

  @Test func `rows of the vault's own past`() throws {
    let forge = try Forge(items: Campaign.size(short: 3, long: 120), versions: Campaign.size(short: 2, long: 9))
    var cases: [(Forger) throws -> Void] = []
    for old in forge.older {
      let asked = forge.items([old.item])
      let now = forge.rows[old.item]
      // All of the last commit: the whole vault rolled back, which only a pin detects.
      let isLast = old.state == forge.older.last?.state
      for (group, sql) in [
        ("an older row", old.row.put),
        ("an older row with its digest", "\(old.row.put);\(old.digest)"),
        ("an older row with its digest and state", "\(old.row.put);\(old.digest);\(old.state)"),
        ("an older row with its state", "\(old.row.put);\(old.state)"),
        ("an older state", old.state),
        ("an older rid", "UPDATE rec SET rid=\(old.row.rid) WHERE idx=\(now.idx)"),
        ("an older meta", "UPDATE rec SET meta=\(old.row.meta) WHERE idx=\(now.idx)"),
        ("an older value", "UPDATE rec SET value=\(old.row.value) WHERE idx=\(now.idx)"),
      ] where !isLast || group != "an older row with its digest and state" {
        cases.append { try $0.forge(sql, group, asking: asked) }
      }
    }
    each(forge, every: 3, cases).report("rows of the vault's own past")
  }

  /// The write must refuse, rather than bless the other rows, and change nothing.
  @Test func `an older row put back just before a write`() throws {
    let forge = try Forge(items: Campaign.size(short: 2, long: 60), versions: Campaign.size(short: 2, long: 6))
    var tally = Tally()
    let vault = try forge.place.unlock()
    // Names that share a bucket with an item: writing them rehashes its row too.
    let buckets = try forge.names.map { name in
      try vault.core.run { (vault) throws(StoreError) in vault.items.bucket(of: vault.items.index(of: name)) }
    }
    var neighbors: [Int: ItemName] = [:]
    for number in 0..<200_000 where neighbors.count < Set(buckets).count {
      let name = try ItemName(service: "neighbor", account: "\(number)")
      let bucket = try vault.core.run { (vault) throws(StoreError) in vault.items.bucket(of: vault.items.index(of: name)) }
      if buckets.contains(bucket), neighbors[bucket] == nil { neighbors[bucket] = name }
    }
    let generation = try vault.status().generation
    for old in forge.older {
      let now = forge.rows[old.item]
      let name = forge.names[old.item]
      let neighbor = try #require(neighbors[buckets[old.item]])
      try forge.place.attack("PRAGMA synchronous=OFF; \(old.row.put)")
      for (group, write) in [
        ("the item itself is set", { (vault: borrowing UnlockedVault) in try vault.set(form("new"), for: name) }),
        ("the item itself is deleted", { vault in try vault.remove(name) }),
        ("a new item of its bucket is set", { vault in try vault.set(form("new"), for: neighbor) }),
        ("the key is rotated", { vault in try vault.rotate() }),
      ] as [(String, (borrowing UnlockedVault) throws -> Void)] {
        let outcome = kind { try write(vault) }.map { "\($0)" } ?? "BLESSED"
        tally.add(group, outcome, allowed: ["tampered"], name.description)
      }
      try forge.place.attack("PRAGMA synchronous=OFF; \(now.put)")
      tally.add(
        "and with the row back", text(try vault.get(name)) == Forge.value(old.item) ? "right answer" : "WRONG VALUE",
        allowed: ["right answer"], name.description)
    }
    #expect(try vault.status().generation == generation, "nothing was committed")
    _ = try vault.verify()
    tally.report("an older row put back just before a write")
  }

  @Test func `rows and parts of another vault with the same key file and names`() throws {
    let size = Campaign.size(short: 2, long: 100)
    let forge = try Forge(items: size, versions: 1)
    let other = try Forge(items: size, versions: 1)
    var cases: [(Forger) throws -> Void] = []
    let own = zip(forge.rows.indices, forge.rows).map { ($1, other.rows[$0], forge.items([$0])) }
    for (row, foreign, asked) in own + zip(forge.former, other.former).map({ ($0, $1, forge.items([])) }) {
      for (group, sql) in [
        ("its row added", foreign.put),
        ("its row in this one's place", "\(row.delete); \(foreign.put)"),
        ("its content under this index", row.holding(foreign).put),
        ("its meta", row.set("meta", of: foreign)),
        ("its value", row.set("value", of: foreign)),
      ] {
        cases.append { try $0.forge(sql, group, asking: asked) }
      }
    }
    let tables = ["header", "header_copy", "state", "digest", "rec", "old", "log"]
    // Every choice of tables except none and all; all would be the other vault itself.
    for choice in 1..<(1 << tables.count) - 1 {
      let chosen = tables.indices.filter { choice >> $0 & 1 == 1 }.map { tables[$0] }
      let sql =
        "ATTACH '\(other.place.path)' AS other;"
        + chosen.map { "DELETE FROM main.\($0); INSERT INTO main.\($0) SELECT * FROM other.\($0);" }.joined()
      cases.append { try $0.forge(sql, "some of its tables", as: ["tampered"]) }
    }
    each(forge, every: 7, cases).report("parts of another vault")
  }
}

extension Forge.Row {
  subscript(column: String) -> String { column == "rid" ? rid : column == "meta" ? meta : value }
  /// The first ten bits of the index, plus 1 024 in `old`.
  var bucket: UInt16 { (UInt16(idx.dropFirst(2).prefix(4), radix: 16) ?? 0) >> 6 + (table == "old" ? 1024 : 0) }
  var delete: String { "DELETE FROM \(table) WHERE idx=\(idx)" }
  func set(_ column: String, of other: Self) -> String { "UPDATE \(table) SET \(column)=\(other[column]) WHERE idx=\(idx)" }
}

/// Carries a value that several threads only read.
struct Unchecked<Value>: @unchecked Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}
