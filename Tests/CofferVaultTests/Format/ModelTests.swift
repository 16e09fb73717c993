import CofferTestSupport
import CofferMemory
import CofferStorage
import Foundation
import Testing

@testable import CofferVault

/// A vault's parts written by a model of the format in another language, which shares no code with libsodium or with this package.
struct Model: Decodable {
  struct Slot: Decodable {
    let id: HexBytes
    let kind: UInt8
    let mix: HexBytes
    let label: String
  }
  struct Record: Decodable {
    let service, account, label, contentType: String
    let index, id, meta: HexBytes
    let value, plain: HexBytes?
  }
  struct Log: Decodable {
    let row, head: HexBytes
    let program: String
  }
  let vault, key: HexBytes
  let epoch, generation: UInt64
  let subkeys: [String: HexBytes]
  let passphrase, keyFile, recoveryCode: String
  let identity, header, state, commit, root, historyIndex, pin: HexBytes
  let slots: [Slot]
  let records: [Record]
  let log: Log

  static func load() throws -> Model { try Vectors.fixture("format-1.json") }

  func keys() throws -> Subkeys {
    let vault = try #require(VaultSalt(vault.bytes))
    return try Subkeys(of: VaultKey(opened: key.secret(), part: "key"), vault: vault, epoch: epoch)
  }

  func credentials(for kind: SlotKind) throws -> Credentials {
    var credentials = Credentials()
    if kind.takesPassphrase { credentials.passphrase = try SecretBytes(passphrase) }
    if kind == .keyFile || kind == .passphraseAndKeyFile { credentials.keyFile = try SecretBytes(keyFile) }
    if kind == .recoveryCode { credentials.recoveryCode = try SecretBytes(recoveryCode) }
    if kind == .recipient { credentials.identity = try identity.secret() }
    return credentials
  }
}

@Suite struct ModelTests {
  let model: Model
  init() throws { model = try Model.load() }

  @Test func `derives the model's subkeys`() throws {
    let keys = try model.keys()
    for use in Subkey.allCases { #expect(keys.withKey(use) { [UInt8]($0) } == model.subkeys["\(use)"]?.bytes) }
  }

  @Test(arguments: SlotKind.allCases) func `opens the model's slot of each kind`(_ kind: SlotKind) throws {
    let header = try VaultHeader(decoding: model.header.bytes)
    let open = try SlotSearch.open(header, with: try model.credentials(for: kind), memory: 64 << 20)
    // A passphrase with a key file also fits nothing cheaper: the model's key file opens the key-file slot first.
    #expect(open.kind == (kind == .passphraseAndKeyFile ? .keyFile : kind))
    #expect(open.key.bytes.revealed == model.key.bytes)
  }

  @Test func `opens the model's slot of passphrase and key file, where there is no other`() throws {
    let header = try VaultHeader(decoding: model.header.bytes)
    let slot = try #require(header.slots.first { $0.frame.kind == .passphraseAndKeyFile })
    let inputs = try SlotInputs(try model.credentials(for: .passphraseAndKeyFile))
    let input = try #require(try inputs.input(for: slot.frame, memory: 64 << 20)?.revealed)
    let own = try #require(slot.own)
    var anchor: Anchor?
    let secret = try SlotSeal.openOwn(own, under: SecretBytes(input), frame: slot.frame, place: header.place, anchor: &anchor)
    let key = try SlotSeal.openBox(slot, epoch: header.epoch, place: header.place, with: secret)
    #expect(key.bytes.revealed == model.key.bytes)
  }

  @Test func `reads the model's header and state, and writes the header's bytes again`() throws {
    let keys = try model.keys()
    let header = try VaultHeader(decoding: model.header.bytes)
    #expect(header.encoded() == model.header.bytes)
    #expect(header.epoch == model.epoch)
    let body = try header.openBody(keys, proving: [])
    #expect(body.floor == PassphraseCost(passes: 3, mebibytes: 64))
    for (index, slot) in header.slots.enumerated() {
      let expected = try #require(model.slots.first { $0.id.bytes == slot.id.bytes })
      #expect(slot.frame.kind.rawValue == expected.kind)
      #expect(body.labels[index] == expected.label)
      #expect(body.withMix(index) { [UInt8]($0) } == expected.mix.bytes)
    }
    let state = try model.state.with { (row) throws(FormatError) in
      try VaultState(opening: row, epoch: header.epoch, header: PlainHash.digest(model.header.bytes), keys: keys)
    }
    #expect(state.generation == model.generation && state.commit.bytes == model.commit.bytes)
    #expect(state.root.bytes == model.root.bytes && state.replicas.count == 3)
    #expect(state.logHead.bytes == model.log.head.bytes)
  }

  @Test func `opens the model's records and agrees on places, set and root`() throws {
    let keys = try model.keys()
    var entries: [Int: [BucketEntry]] = [:]
    for record in model.records {
      let sealed = SealedRecord(
        index: try #require(RecordIndex(record.index.bytes)), id: try #require(RecordID(record.id.bytes)),
        meta: record.meta.bytes,
        value: record.value?.bytes)
      let open = try sealed.withRow { (row) throws(FormatError) in try row.open(keys: keys) }
      #expect(open.meta.service == record.service && open.meta.account == record.account)
      #expect(open.meta.label == record.label && open.meta.contentType == record.contentType)
      #expect(open.meta.revision == 3 && open.meta.history == 2)
      let form = open.form()
      #expect(form?.bytes.revealed == record.plain?.bytes)
      #expect(try sealed.withRow { (row) throws(FormatError) in try row.authenticatedMeta(keys) != nil })
      entries[RecordTable.present.bucket(of: sealed.index), default: []].append(sealed.entry)
    }
    var tree = DigestTree(emptyUnder: keys)
    var changes: [(bucket: Int, digest: Digest32)] = []
    for (bucket, list) in entries {
      changes.append((bucket, DigestTree.digest(bucket, list.sorted { $0.index < $1.index }, keys: keys)))
    }
    tree.replace(changes, keys: keys)
    #expect(tree.root.bytes == model.root.bytes)
    let history = RecordAddress(kind: .former, service: "example.org", account: "ann", field: "", revision: 1).index(keys)
    #expect(history.bytes == model.historyIndex.bytes)
  }

  @Test func `opens the model's log row and pin`() throws {
    let keys = try model.keys()
    let (entry, head) = try model.log.row.with { (row) throws(FormatError) in
      (try LogBox.open(row, sequence: 1, after: .zero, keys: keys), LogBox.head(after: .zero, sequence: 1, row: row, keys: keys))
    }
    #expect(entry.event == .itemSet && entry.program == model.log.program && entry.process == 4242)
    #expect(head.bytes == model.log.head.bytes)
    let pin = try model.pin.with { (bytes) throws(FormatError) in try PinRecord(decoding: bytes) }
    #expect(pin.vault.bytes == model.vault.bytes && pin.seen.generation == 42 && pin.own.generation == 41)
    #expect(pin.encoded() == model.pin.bytes)
  }
}
