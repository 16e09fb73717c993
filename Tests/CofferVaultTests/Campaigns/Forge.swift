import CofferTestSupport
import CCofferSQLite
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat
@testable import CofferVaultRows

/// A vault and an attacker's copies of its file after every commit, as material for forgeries.
final class Forge {
  /// A row of `rec` or `old` in SQL notation.
  struct Row: Sendable {
    let table, idx, rid, meta, value: String
    var put: String { "REPLACE INTO \(table) VALUES(\(idx),\(rid),\(meta),\(value))" }
    func holding(_ other: Row) -> Row { Row(table: table, idx: idx, rid: other.rid, meta: other.meta, value: other.value) }
    func at(_ other: String, in table: String? = nil) -> Row {
      Row(table: table ?? self.table, idx: other, rid: rid, meta: meta, value: value)
    }
  }

  /// The file's row before one item was written again.
  struct Older: Sendable {
    let item: Int
    let row: Row
    let digest, state: String
  }

  let place: TemporaryVault
  let names: [ItemName]
  private(set) var rows: [Row] = []
  /// The rows of `old`: one previous content per item.
  private(set) var former: [Row] = []
  private(set) var older: [Older] = []
  private(set) var kept: KeptFiles
  var count: Int { names.count }

  init(items: Int, versions: Int) throws {
    place = try TemporaryVault()
    names = try (0..<items).map { try ItemName(service: "svc \($0 % 3)", account: "\($0)") }
    kept = KeptFiles([:])
    let vault = try place.create()
    for version in 1...versions {
      for (number, name) in names.enumerated() {
        if version > 1 { older.append(try snapshot(number, indexOf(name, vault))) }
        try vault.set(form(version == versions ? Self.value(number) : "old \(number) \(version)"), for: name)
      }
    }
    for name in names { rows.append(try row(indexOf(name, vault))) }
    let metas = names.map { name in
      var meta = RecordMeta(revision: 1, service: name.service, account: name.account, created: 1, modified: 1)
      meta.make(.former)
      return meta
    }
    try vault.core.write { (vault, change) throws(StoreError) in
      for meta in metas { try vault.plant(meta, [UInt8](repeating: 1, count: 10), &change) }
      try vault.view.database.outcomes.commit(.random(), now: 1)
    }
    let places = try vault.core.run { (vault) throws(StoreError) in
      metas.map { Hex.text($0.address.index(vault.view.keys).bytes) }
    }
    for place in places { former.append(try row("x'\(place)'", in: "old")) }
    _ = try vault.lock()
    kept = try KeptFiles(place.folder, ["vault.sqlite"])
  }

  static func value(_ number: Int) -> String { "value \(number)" }
  func items(_ numbers: [Int]) -> [ItemName: String] {
    Dictionary(uniqueKeysWithValues: numbers.map { (names[$0], Self.value($0)) })
  }
  var all: [ItemName: String] { items(Array(names.indices)) }

  private func indexOf(_ name: ItemName, _ vault: borrowing UnlockedVault) throws -> String {
    "x'\(try vault.core.run { (vault) throws(StoreError) in Hex.text(vault.items.index(of: name).bytes) })'"
  }

  private func row(_ idx: String, in table: String = "rec") throws -> Row {
    let parts = try place.hex("SELECT quote(rid)||' '||quote(meta)||' '||quote(value) FROM \(table) WHERE idx=\(idx)")
      .split(separator: " ").map(String.init)
    return Row(table: table, idx: idx, rid: parts[0], meta: parts[1], value: parts[2])
  }

  private func snapshot(_ item: Int, _ idx: String) throws -> Older {
    let high = try #require(UInt16(idx.dropFirst(2).prefix(4), radix: 16))
    let bucket = high >> 6
    let digest = try place.hex("SELECT quote(hash) FROM digest WHERE bucket=\(bucket)")
    return Older(
      item: item, row: try row(idx), digest: "REPLACE INTO digest VALUES(\(bucket),\(digest))",
      state: "UPDATE state SET bytes=\(try place.hex("SELECT quote(bytes) FROM state"))")
  }
}

/// One worker's place for forgeries: a copy of the vault, rewritten for each.
final class Forger {
  let place: TemporaryVault
  private let kept: KeptFiles
  private let items: [ItemName: String]
  private let every: Int
  private var count = 0
  var tally = Tally()

  convenience init(_ forge: Forge, every: Int = 1) throws { try self.init(forge.kept, forge.all, every: every) }

  /// - Parameter every: the short form makes one forgery of so many.
  init(_ kept: KeptFiles, _ items: [ItemName: String], every: Int = 1) throws {
    place = try TemporaryVault()
    self.kept = kept
    self.items = items
    self.every = Campaign.isLong ? 1 : every
  }

  private var isSkipped: Bool {
    count += 1
    return count % every != 0
  }

  /// Puts the forgery into the file and reads everything, expecting a refusal of one of `kinds`.
  func forge(_ sql: String, _ group: String, asking: [ItemName: String]? = nil, as kinds: Set<String> = ["tampered"]) throws {
    guard !isSkipped else { return }
    try kept.put(into: place.folder)
    // A forger need not wait for the disk.
    try place.attack("PRAGMA synchronous=OFF;" + sql)
    judge(group, asking: asking, as: kinds, sql)
  }

  /// The same for a file edited without SQLite.
  func forge(file: Data, _ group: String, as kinds: Set<String>, _ what: @autoclosure () -> String) throws {
    guard !isSkipped else { return }
    try kept.with("vault.sqlite", file).put(into: place.folder)
    judge(group, asking: nil, as: kinds, what())
  }

  func judge(_ group: String, asking: [ItemName: String]?, as kinds: Set<String>, _ what: @autoclosure () -> String) {
    tally.add(group, place.answer(asking ?? items, whole: asking == nil), allowed: kinds, String(what().prefix(300)))
  }
}

extension TemporaryVault {
  /// The answer to reading `expected`; with a list if `whole`.
  func answer(_ expected: [ItemName: String], whole: Bool) -> String {
    guard !whole else { return answer(expected) }
    do throws(StoreError) {
      let vault = try unlocked()
      var refusal: StoreError?
      for (name, value) in expected {
        do throws(StoreError) {
          guard text(try vault.get(name)) == value else { return "WRONG VALUE" }
        } catch { refusal = refusal ?? error }
      }
      do throws(StoreError) { _ = try vault.verify() } catch {
        return refusal == nil || refusal?.kind == error.kind ? error.word : "\(refusal?.word ?? "") and \(error.word)"
      }
      return refusal == nil ? "ACCEPTED" : "REFUSED BY GET ALONE"
    } catch {
      return error.word
    }
  }
}
