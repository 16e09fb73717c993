import CofferPlatform
import CofferStorage
import Foundation

@testable import CofferVault
@testable import CofferVaultFormat

/// Text compared by bytes: Swift strings are equal if they are canonically equivalent.
struct ExactText: Codable, Hashable, Comparable, ExpressibleByStringLiteral {
  let text: String

  init(_ text: String) { self.text = text }
  init(stringLiteral text: String) { self.text = text }
  init(from decoder: any Decoder) throws { text = try decoder.singleValueContainer().decode(String.self) }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
  func hash(into hasher: inout Hasher) { hasher.combine([UInt8](text.utf8)) }
  static func == (left: Self, right: Self) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }
  static func < (left: Self, right: Self) -> Bool { left.text.utf8.lexicographicallyPrecedes(right.text.utf8) }
}

/// A vault's whole content, as the Python program and Coffer's own parts report it.
struct WitnessedVault: Decodable, Equatable, Sendable {
  struct Slot: Decodable, Equatable {
    let id: String, type: UInt8, alg: UInt8, ops: UInt32, mem: UInt32
    var label: ExactText
    let other: String?
  }
  struct Replica: Decodable, Equatable {
    let id: String, generation: UInt64, commit: String
  }
  struct Record: Decodable, Equatable {
    let id: String, kind: UInt8, service: ExactText, account: ExactText, field: ExactText, revision: UInt64
    let label: ExactText, contentType: ExactText, created: UInt64, modified: UInt64, written: UInt64, expires: UInt64
    let history: UInt8, attributes: [[ExactText]], deletedBy: String?, until: UInt64?, value: String?

    var names: [ExactText] { [service, account, field] }
  }
  struct Entry: Decodable, Equatable {
    let seq: UInt64, event: UInt8, time: UInt64, uid: UInt32, pid: UInt32, program: ExactText
    let subject: [ExactText]?, commit: String, slot: String, detail: String
  }
  struct Decided: Decodable, Equatable {
    let id: String, outcome: Int, time: UInt64
  }

  let vault: String, format: UInt32, epoch: UInt64, mark: String, created: UInt64, rotated: UInt64, floor: [UInt32]
  let slots: [Slot], earlierEpochs: [UInt64]
  let generation: UInt64, commit: String, time: UInt64, count: UInt64, items: UInt64, fields: UInt64, scrub: Int,
    replicas: [Replica]
  let records: [Record], log: [Entry], logBegins: UInt64, decided: [Decided]

  /// The parts that differ, for a message that reveals no value.
  func differences(from other: WitnessedVault) -> [String] {
    let (mine, others) = (Mirror(reflecting: self).children, Mirror(reflecting: other).children)
    return zip(mine, others).compactMap { "\($0.value)" == "\($1.value)" ? nil : $0.label }
  }
}

extension WitnessedVault {
  /// Coffer's view of a vault, read from the engine, as no public call reports all parts of the format.
  ///
  /// - Parameter decided: the rows of that table, by transaction.
  init(_ vault: OpenVault, decided: [Decided]) throws(StoreError) {
    let (view, header, state) = (vault.view, vault.view.header, vault.view.state)
    let (records, places) = try Self.records(view)
    var entries: [Entry] = []
    try vault.log.forEach { (sequence, entry) throws(StoreError) in
      entries.append(Entry(entry, sequence, places[entry.index]))
    }
    self.init(
      vault: Hex.text(header.vault.bytes), format: header.format, epoch: header.epoch, mark: "\(view.keys.epochMark.mark)",
      created: view.headerBody.created, rotated: view.headerBody.rotated,
      floor: [view.headerBody.floor.passes, view.headerBody.floor.mebibytes],
      slots: zip(header.slots, view.headerBody.labels).map { Slot($0, $1) }, earlierEpochs: try Self.earlierEpochs(view),
      generation: state.generation, commit: Hex.text(state.commit.bytes), time: state.time, count: state.counts.records,
      items: state.counts.items, fields: state.counts.fields,
      scrub: state.scrub ? 1 : 0,
      replicas: state.replicas.map {
        Replica(id: Hex.text($0.id.bytes), generation: $0.generation, commit: Hex.text($0.commit.bytes))
      },
      records: records, log: entries, logBegins: entries.first?.seq ?? 1, decided: decided)
  }

  /// The records of both tables by name, and the names by index in `rec`, also of absent ones.
  private static func records(_ view: VerifiedView) throws(StoreError) -> ([Record], [RecordIndex: [ExactText]]) {
    var found: [Record] = []
    var places: [RecordIndex: [ExactText]] = [:]
    for table in RecordTable.allCases {
      for entry in try view.lists(of: table).flatMap(\.entries) {
        let opened = try view.withRow(entry.index, entry.id, in: table, .all) {
          (row) throws(StoreError) -> (record: Record, place: RecordIndex)? in
          let kind = try view.checked { () throws(FormatError) in try row.openMeta(keys: view.keys).kind }
          guard kind != .later else { return nil }
          let open = try view.checked { () throws(FormatError) in try row.open(keys: view.keys) }
          return (Record(open), open.meta.address.present.index(view.keys))
        }
        guard let opened else { continue }
        found.append(opened.record)
        places[opened.place] = opened.record.names
      }
    }
    found.sort { left, right in
      left.names == right.names
        ? (left.kind, left.revision) < (right.kind, right.revision) : left.names.lexicographicallyPrecedes(right.names)
    }
    return (found, places)
  }

  /// e of each lineage entry; nothing of the entries is kept.
  private static func earlierEpochs(_ view: VerifiedView) throws(StoreError) -> [UInt64] {
    var entries: [UInt8] = []
    _ = try view.checked { () throws(FormatError) in
      try HeaderBody(opening: view.header, keys: view.keys) { (lineage) throws(FormatError) in
        let next = Lineage.Next(lineage, epoch: 0, secret: nil)
        entries = ByteWriter.bytes(next.byteCount) { next.write(to: &$0) }
      }
    }
    return stride(from: 4, to: entries.count, by: 8 + Lineage.secretBytes).map { at in
      entries[at..<at + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
  }
}

extension WitnessedVault.Slot {
  init(_ slot: SealedSlot, _ label: String) {
    let frame = ByteWriter.bytes(SlotFrame.count) { slot.frame.write(to: &$0) }
    self.init(
      id: Hex.text(slot.id.bytes), type: slot.frame.kind.rawValue, alg: frame[17], ops: slot.frame.passes,
      mem: slot.frame.mebibytes, label: ExactText(label),
      other: slot.frame.kind == .foreign ? slot.own.map { Hex.text($0.bytes) } : nil)
  }
}

extension WitnessedVault.Record {
  init(_ record: borrowing OpenRecord) {
    let meta = record.meta
    var bytes: String?
    switch record.value {
    case .some(let value): bytes = value.withUnsafeBytes { Hex.text([UInt8]($0)) }
    case .none: bytes = nil
    }
    self.init(
      id: Hex.text(meta.id.bytes), kind: meta.kind.rawValue, service: ExactText(meta.service), account: ExactText(meta.account),
      field: ExactText(meta.field), revision: meta.revision, label: ExactText(meta.label),
      contentType: ExactText(meta.contentType), created: meta.created, modified: meta.modified, written: meta.written,
      expires: meta.expires, history: meta.history,
      attributes: meta.attributes.map { [ExactText($0.name), ExactText($0.value)] },
      deletedBy: meta.deletion.map { Hex.text($0.commit.bytes) }, until: meta.deletion?.until, value: bytes)
  }
}

extension WitnessedVault.Entry {
  init(_ entry: LogEntry, _ sequence: UInt64, _ subject: [ExactText]?) {
    // An unknown event's number is not reported; the first bytes of the entry have it.
    self.init(
      seq: sequence, event: entry.encoded(after: .zero)[1], time: entry.time, uid: entry.user, pid: entry.process,
      program: ExactText(entry.program), subject: subject, commit: Hex.text(entry.commit.bytes),
      slot: Hex.text(entry.slot.bytes), detail: Hex.text(entry.detail))
  }
}

extension TemporaryVault {
  func decided() throws -> [WitnessedVault.Decided] {
    let rows = try hex("SELECT coalesce(group_concat(lower(hex(txid)) || ' ' || outcome || ' ' || time, ','), '') FROM decided")
    return rows.split(separator: ",").compactMap { row in
      let parts = row.split(separator: " ")
      guard parts.count == 3, let outcome = Int(parts[1]), let time = UInt64(parts[2]) else { return nil }
      return WitnessedVault.Decided(id: String(parts[0]), outcome: outcome, time: time)
    }
  }
}
