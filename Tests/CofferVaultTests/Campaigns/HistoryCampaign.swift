import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat
@testable import CofferVaultRows

/// Random changes of items, fields and their history in a vault and in a model without tables and seals.
@Suite(.tags(.campaign), .wholeRun)
struct HistoryCampaign {
  private struct Model {
    struct Content: Equatable {
      var value: String
      var history: UInt64
      /// The step that deleted it; nil for a previous content.
      var deleted: Int?
    }
    struct Record {
      var revision: UInt64 = 0
      var present: Content?
      var past: [UInt64: Content] = [:]
      var highest: UInt64 { present == nil ? past.keys.max() ?? 0 : revision }
    }
    var records: [ItemName: Record] = [:]
    var step = 0

    subscript(name: ItemName) -> Record {
      get { records[name] ?? Record() }
      set { records[name] = newValue }
    }

    func fields(of item: ItemName) -> [ItemName] {
      records.keys.filter { $0.item == item && !$0.field.isEmpty && self[$0].present != nil }.sorted()
    }

    mutating func store(_ name: ItemName, _ value: String, _ history: UInt64, above: UInt64 = 0) {
      var record = self[name]
      let next = record.highest + above + 1
      if let old = record.present, old.history > 0 || history > 0 {
        if history > 0 { record.past[record.revision] = old }
        let (first, kept) = (record.revision - min(record.revision - 1, old.history), next - min(next - 1, history))
        record.past = record.past.filter { $1.deleted != nil || $0 < first || $0 >= kept }
      }
      (record.revision, record.present) = (next, Content(value: value, history: history))
      self[name] = record
    }

    mutating func set(_ name: ItemName, _ value: String, keeping: Int?) -> StoreError.Kind? {
      guard name.field.isEmpty || self[name.item].present != nil else { return .notFound }
      store(name, value, keeping.map(UInt64.init) ?? self[name].present?.history ?? 0)
      return nil
    }

    mutating func remove(_ name: ItemName, keeping: Bool) {
      guard self[name].present != nil || !keeping else { return }
      for name in [name] + (name.field.isEmpty ? fields(of: name) : []) {
        var record = self[name]
        guard record.present != nil else { continue }
        if keeping {
          record.past[record.revision] = record.present
          record.past[record.revision]?.deleted = step
        }
        record.present = nil
        self[name] = record
      }
      guard !keeping else { return }
      for other in records.keys where other == name || (name.field.isEmpty && other.item == name) { self[other].past = [:] }
    }

    private func lastDeleted(_ name: ItemName) -> UInt64? { self[name].past.filter { $1.deleted != nil }.keys.max() }

    private mutating func restore(_ name: ItemName, _ revision: UInt64) {
      var record = self[name]
      guard var content = record.past.removeValue(forKey: revision) else { return }
      let next = max(record.past.keys.max() ?? 0, revision) + 1
      record.past = record.past.filter { $1.deleted != nil || $0 >= next - min(next - 1, content.history) }
      content.deleted = nil
      (record.revision, record.present) = (next, content)
      self[name] = record
    }

    mutating func undelete(_ name: ItemName) -> StoreError.Kind? {
      guard self[name].present == nil else { return .alreadyExists }
      guard let last = lastDeleted(name), name.field.isEmpty || self[name.item].present != nil else { return .notFound }
      let moment = self[name].past[last]?.deleted
      restore(name, last)
      for field in records.keys where name.field.isEmpty && field.item == name && field != name {
        if let last = lastDeleted(field), self[field].past[last]?.deleted == moment { restore(field, last) }
      }
      return nil
    }

    mutating func revert(_ name: ItemName, to revision: UInt64) -> StoreError.Kind? {
      guard let present = self[name].present else { return .notFound }
      guard self[name].revision != revision else { return nil }
      guard let content = self[name].past[revision] else { return .notFound }
      store(name, content.value, present.history)
      return nil
    }

    mutating func prune(_ kept: Int, of name: ItemName?) {
      for other in records.keys where name == nil || other == name || (name?.field.isEmpty == true && other.item == name) {
        for revision in self[other].past.keys.sorted(by: >).dropFirst(kept) { self[other].past[revision] = nil }
      }
    }

    mutating func move(_ name: ItemName, to new: ItemName) -> StoreError.Kind? {
      guard name.field.isEmpty == new.field.isEmpty else { return .invalidName }
      guard self[name].present != nil else { return .notFound }
      guard new.field.isEmpty || self[new.item].present != nil else { return .notFound }
      let fields = name.field.isEmpty ? fields(of: name) : []
      if new.field.isEmpty { for field in self.fields(of: new) { remove(field, keeping: false) } }
      moveRecord(name, new)
      for field in fields { moveRecord(field, ItemName(sealed: new.service, new.account, field: field.field)) }
      return nil
    }

    private mutating func moveRecord(_ name: ItemName, _ new: ItemName) {
      guard let content = self[name].present else { return }
      let made = lastDeleted(name) ?? 0
      let past = content.history == 0 ? [] : self[name].past.filter { $1.deleted == nil && $0 > made }.keys.sorted()
      store(new, content.value, content.history, above: UInt64(past.count))
      for (place, revision) in past.enumerated() {
        let (moved, own) = (self[name].past[revision], self[new].revision)
        self[name].past[revision] = nil
        self[new].past[own - UInt64(past.count - place)] = moved
      }
      self[name].present = nil
    }

    /// The expected result of ``UnlockedVault/deleted(service:)``.
    var deleted: [ItemName] {
      records.keys.filter { name in
        guard self[name].present == nil, let last = lastDeleted(name) else { return false }
        guard !name.field.isEmpty, self[name.item].present == nil, let ofItem = lastDeleted(name.item) else { return true }
        return self[name.item].past[ofItem]?.deleted != self[name].past[last]?.deleted
      }.sorted()
    }
  }

  private static let names: [ItemName] = ["a", "b", "c"].flatMap { account in
    ["", "f", "g"].map { ItemName(sealed: "svc", account, field: $0) }
  }

  private static func change(
    _ vault: borrowing UnlockedVault, _ model: inout Model, _ random: inout Random
  ) -> (what: String, made: StoreError.Kind?, expected: StoreError.Kind?) {
    let name = names.randomElement(using: &random) ?? names[0]
    let other = names.randomElement(using: &random) ?? names[1]
    let keeping: Int? = [nil, nil, 0, 1, 3, 100].randomElement(using: &random) ?? nil
    let value = "value \(model.step)"
    switch Int.random(in: 0..<20, using: &random) {
    case 0..<8:
      return (
        "set \(name) keeping \(keeping ?? -1)", kind { try vault.set(form(value), for: name, keeping: keeping) },
        model.set(name, value, keeping: keeping)
      )
    case 8..<11:
      let keeps = Bool.random(using: &random)
      model.remove(name, keeping: keeps)
      return ("remove \(name) \(keeps)", kind { try vault.remove(name, keptUntil: keeps ? .distantFuture : nil) }, nil)
    case 11..<13: return ("undelete \(name)", kind { try vault.undelete(name) }, model.undelete(name))
    case 13..<15:
      let revision = UInt64.random(in: 1...max(1, model[name].highest), using: &random)
      return ("revert \(name) to \(revision)", kind { try vault.revert(name, to: revision) }, model.revert(name, to: revision))
    case 15:
      let (kept, some) = (Int.random(in: 0...3, using: &random), Bool.random(using: &random) ? name : nil)
      model.prune(kept, of: some)
      return ("prune to \(kept) \(some?.description ?? "all")", kind { try vault.prune(.allBut(kept), of: some) }, nil)
    case 16 where model.step % 8 == 0: return ("rotate", kind { try vault.rotate() }, nil)
    default:
      guard name != other else { return ("nothing", nil, nil) }
      return (
        "move \(name) to \(other)", kind { try vault.apply([.move(name, to: other, if: .always)]) }, model.move(name, to: other)
      )
    }
  }

  private static func difference(_ vault: borrowing UnlockedVault, _ model: Model) throws -> String? {
    for name in names {
      let record = model[name]
      var expected = record.past.map { ($0.key, $0.value.deleted == nil ? "former" : "deleted", $0.value.value) }
      if let present = record.present { expected.append((record.revision, "present", present.value)) }
      let found = try vault.revisions(of: name)
      let texts = try found.map {
        "\($0.item.revision) \($0.state) \(text(try vault.get(name, revision: $0.item.revision)) ?? "-")"
      }
      let wanted = expected.sorted { $0.0 > $1.0 }.map { "\($0.0) \($0.1) \($0.2)" }
      guard texts == wanted else { return "\(name): \(texts) instead of \(wanted)" }
      guard try text(vault.get(name)) == record.present?.value else { return "\(name): another value" }
      guard name.field.isEmpty, record.present != nil else { continue }
      guard try vault.fields(of: name).map(\.name) == model.fields(of: name) else { return "\(name): other fields" }
    }
    let deleted = try vault.deleted().map(\.item.name)
    guard deleted == model.deleted else { return "deleted \(deleted) instead of \(model.deleted)" }
    let items = names.filter { $0.field.isEmpty && model[$0].present != nil }
    guard try vault.list().map(\.name) == items, try vault.status().items == items.count else { return "another list" }
    let rows = model.records.values.reduce(0) { $0 + $1.past.count + ($1.present == nil ? 0 : 1) }
    let report = try vault.verify()
    return report.records == rows && report.items == items.count ? nil : "\(report.records) rows instead of \(rows)"
  }

  @Test func `random histories are as a model has them, for who made them and for who opens the vault anew`() throws {
    let (vaults, steps) = (Campaign.size(short: 1, long: 60), Campaign.size(short: 150, long: 600))
    let counts = Collected()
    Campaign.concurrently(min(vaults, 2)) { worker in
      var tally = Tally()
      for seed in stride(from: worker, to: vaults, by: 2) {
        var (random, model) = (Random(seed: UInt64(100 + seed)), Model())
        let place = try TemporaryVault()
        let clock = Mutable(Date(timeIntervalSince1970: 1_000_000))
        let vault = UnlockedVault(
          try OpenVault.create(
            at: .file(place.path), with: TemporaryVault.credentials(), cost: nil, label: "", clock: { clock.value }))
        for step in 1...steps {
          model.step = step
          clock.value += 1
          let (what, made, expected) = Self.change(vault, &model, &random)
          tally.add(what.split(separator: " ").first.map(String.init) ?? "", made.map { "\($0)" } ?? "done")
          guard made == expected else {
            throw Differs(
              what: "\(seed)/\(step): \(what): \(String(describing: made)) instead of \(String(describing: expected))")
          }
          guard step % 5 == 0 || step == steps else { continue }
          if let difference = try Self.difference(vault, model) { throw Differs(what: "\(seed)/\(step): \(what): \(difference)") }
          if let difference = try Self.difference(place.unlock(), model) {
            throw Differs(what: "\(seed)/\(step), anew: \(difference)")
          }
        }
      }
      counts.add(tally)
    }
    counts.all.report("random histories")
  }

  private struct Differs: Error { let what: String }
}
