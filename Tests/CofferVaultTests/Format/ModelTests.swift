import CofferTestSupport
import CofferMemory
import CofferStorage
import Foundation
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// A vault's parts written by `Tests/Witness`, a program in another language made from the format's text alone.
struct Model: Decodable {
  struct Slot: Decodable {
    struct Own: Decodable {
      let ikm, secretKey, mark: HexBytes
      let epoch: UInt64
    }
    let id: HexBytes
    let kind: UInt8
    let mix: HexBytes
    let label: String
    let own: Own?
  }
  struct Epoch: Decodable {
    let epoch: UInt64?
    let secret, mark: HexBytes
  }
  struct Replica: Decodable {
    let id, commit: HexBytes
    let generation: UInt64
  }
  struct Record: Decodable {
    let kind: UInt8
    let service, account, field, label, contentType: String
    let revision, expires: UInt64
    let attributes: [[String]]
    let index, id, meta, description: HexBytes
    let value, plain: HexBytes?
  }
  struct Log: Decodable {
    let row, head, subject, entry: HexBytes
    let program: String
  }
  let vault, key: HexBytes
  let epoch, generation, created, rotated: UInt64
  let subkeys: [String: HexBytes]
  let lineage: Epoch
  let earlier: [Epoch]
  let passphrase, keyFile, recoveryCode, identity, recipient, invitation: String
  let header, state, commit, root, rootOfPresent, pin: HexBytes
  let digests: [String: HexBytes]
  let slots: [Slot]
  let replicas: [Replica]
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
    if kind == .recipient { credentials.identity = try SecretBytes(identity) }
    return credentials
  }
}

@Suite struct ModelTests {
  let model: Model
  let header: VaultHeader

  init() throws {
    model = try Model.load()
    header = try VaultHeader(decoding: model.header.bytes)
  }

  @Test func `derives the model's subkeys, and the secret and the mark of its epoch`() throws {
    let keys = try model.keys()
    for use in Subkey.allCases { #expect(keys.withKey(use) { [UInt8]($0) } == model.subkeys["\(use)"]?.bytes) }
    #expect(keys.withEpochSecret { [UInt8]($0) } == model.lineage.secret.bytes)
    #expect(keys.epochMark.mark.bytes == model.lineage.mark.bytes)
    for earlier in model.earlier {
      let mark = earlier.secret.with { EpochMark(of: $0, vault: keys.vault, epoch: earlier.epoch ?? 0) }
      #expect(mark.mark.bytes == earlier.mark.bytes)
    }
  }

  @Test func `reads the model's identity, recipient and invitation, and writes them again`() throws {
    let recipient = try Identity.recipient(of: SecretBytes(model.identity))
    #expect(recipient.description == model.recipient)
    #expect(try Recipient(model.recipient) == recipient)
    let invitation = try Invitation(model.invitation)
    #expect(invitation.description == model.invitation)
    #expect(invitation.vault.bytes == model.vault.bytes && invitation.epoch == model.epoch)
    #expect(invitation.key.mark.bytes == model.lineage.mark.bytes)
  }

  @Test(arguments: SlotKind.openable) func `opens the model's slot of each kind`(_ kind: SlotKind) throws {
    let open = try SlotSearch.open(header, with: try model.credentials(for: kind), memory: 64 << 20)
    // The model's key file opens the cheaper key-file slot first.
    #expect(open.kind == (kind == .passphraseAndKeyFile ? .keyFile : kind))
    #expect(open.key.bytes.revealed == model.key.bytes)
  }

  @Test(arguments: SlotKind.openable.filter { $0 != .recipient })
  func `opens the own part of the model's slot, with the anchor in it`(_ kind: SlotKind) throws {
    let slot = try #require(header.slots.first { $0.frame.kind == kind })
    let expected = try #require(model.slots.first { $0.id.bytes == slot.id.bytes }?.own)
    let inputs = try SlotInputs(try model.credentials(for: kind))
    let input = try #require(try inputs.input(for: slot.frame, memory: 64 << 20)?.revealed)
    #expect(input == expected.ikm.bytes)
    let own = try #require(slot.own)
    var anchor: Anchor?
    let secret = try SlotSeal.openOwn(own, under: SecretBytes(input), frame: slot.frame, place: header.place, anchor: &anchor)
    #expect(anchor?.key.epoch == expected.epoch && anchor?.key.mark.bytes == expected.mark.bytes)
    #expect(secret.publicKey == slot.frame.publicKey)
    let key = try SlotSeal.openBox(slot, epoch: header.epoch, place: header.place, with: secret)
    #expect(key.bytes.revealed == model.key.bytes)
  }

  @Test func `reads the model's header and state, and writes the header's bytes again`() throws {
    let keys = try model.keys()
    #expect(header.encoded() == model.header.bytes)
    #expect(header.epoch == model.epoch)
    let body = try header.openBody(keys, proving: try anchors())
    #expect(body.floor == PassphraseCost(passes: 3, mebibytes: 64))
    #expect(body.created == model.created && body.rotated == model.rotated)
    for (index, slot) in header.slots.enumerated() {
      let expected = try #require(model.slots.first { $0.id.bytes == slot.id.bytes })
      #expect(slot.frame.kind.rawValue == expected.kind)
      #expect(body.labels[index] == expected.label)
      #expect(body.withMix(index) { [UInt8]($0) } == expected.mix.bytes)
    }
    let state = try model.state.with { (row) throws(FormatError) in
      try VaultState(opening: row, epoch: header.epoch, header: PlainHash.digest(model.header.bytes), keys: keys)
    }
    #expect(state.generation == model.generation && state.commit.bytes == model.commit.bytes && state.scrub)
    #expect(state.root.bytes == model.root.bytes && state.counts.records == UInt64(model.records.count))
    #expect(state.counts.items == 4 && state.counts.fields == 1)
    #expect(state.replicas.map(\.id.bytes) == model.replicas.map(\.id.bytes))
    #expect(state.replicas.map(\.generation) == model.replicas.map(\.generation))
    #expect(state.replicas.map(\.commit.bytes) == model.replicas.map(\.commit.bytes))
    #expect(state.logHead.bytes == model.log.head.bytes && state.logSequence == 1)
  }

  /// One for each epoch that the model's header proves.
  private func anchors() throws -> [Anchor] {
    let present = Model.Epoch(epoch: model.epoch, secret: model.lineage.secret, mark: model.lineage.mark)
    return try (model.earlier + [present]).map { epoch in
      let key = EpochMark(epoch: try #require(epoch.epoch), mark: try #require(KeyMark(epoch.mark.bytes)))
      return Anchor(vault: header.vault, key: key, source: .invitation)
    }
  }

  @Test func `the model's header proves the epochs that it lists, and no other`() throws {
    let keys = try model.keys()
    for epoch in 1...model.epoch + 1 {
      for known in try anchors() {
        let anchor = Anchor(vault: header.vault, key: EpochMark(epoch: epoch, mark: known.key.mark), source: .invitation)
        let holds: Bool
        do throws(FormatError) {
          _ = try header.openBody(keys, proving: [anchor])
          holds = true
        } catch { holds = false }
        #expect(holds == (known.key.epoch == epoch), "epoch \(epoch), mark of \(known.key.epoch)")
      }
    }
  }

  @Test func `opens the model's records and agrees on places, set and root`() throws {
    let keys = try model.keys()
    var entries: [Int: [BucketEntry]] = [:]
    for record in model.records {
      let kind = try #require(RecordKind(rawValue: record.kind))
      let sealed = SealedRecord(
        index: try #require(RecordIndex(record.index.bytes)), id: try #require(RecordID(record.id.bytes)),
        meta: record.meta.bytes, value: record.value?.bytes)
      let open = try sealed.withRow(in: kind.table) { (row) throws(FormatError) in try row.open(keys: keys) }
      #expect(open.meta.kind == kind && open.meta.revision == record.revision && open.meta.history == 2)
      #expect(open.meta.service == record.service && open.meta.account == record.account && open.meta.field == record.field)
      #expect(open.meta.label == record.label && open.meta.contentType == record.contentType)
      #expect(open.meta.attributes.map { [$0.name, $0.value] } == record.attributes && open.meta.expires == record.expires)
      #expect(ByteWriter.bytes(open.meta.encodedCount) { open.meta.write(to: &$0) } == record.description.bytes)
      let form = open.form()
      #expect(form?.bytes.revealed == record.plain?.bytes)
      #expect(try sealed.withRow(in: kind.table) { (row) throws(FormatError) in try row.authenticatedMeta(keys) != nil })
      entries[kind.table.bucket(of: sealed.index), default: []].append(sealed.entry)
    }
    let changes = entries.map { bucket, list in
      (bucket: bucket, digest: DigestTree.digest(bucket, list.sorted { $0.index < $1.index }, keys: keys))
    }
    for change in changes { #expect(change.digest.bytes == model.digests["\(change.bucket)"]?.bytes) }
    #expect(changes.count == model.digests.count)
    var tree = DigestTree(emptyUnder: keys)
    tree.replace(changes.filter { RecordTable(ofBucket: $0.bucket) == .present }, keys: keys)
    #expect(tree.root.bytes == model.rootOfPresent.bytes)
    tree.replace(changes, keys: keys)
    #expect(tree.root.bytes == model.root.bytes)
  }

  @Test func `opens the model's log row and pin, and writes the pin's bytes again`() throws {
    let keys = try model.keys()
    let (entry, head) = try model.log.row.with { (row) throws(FormatError) in
      (try LogBox.open(row, sequence: 1, after: .zero, keys: keys), LogBox.head(after: .zero, sequence: 1, row: row, keys: keys))
    }
    #expect(entry.event == .itemSet && entry.program == model.log.program && entry.process == 4242)
    #expect(entry.index.bytes == model.log.subject.bytes && entry.commit.bytes == model.commit.bytes)
    #expect(entry.encoded(after: .zero) == model.log.entry.bytes)
    #expect(head.bytes == model.log.head.bytes)
    let pin = try model.pin.with { (bytes) throws(FormatError) in try PinRecord(decoding: bytes) }
    #expect(pin.vault.bytes == model.vault.bytes && pin.replica.bytes == model.replicas[1].id.bytes)
    #expect(pin.key == keys.epochMark && pin.seen.generation == model.generation && pin.seen.commit.bytes == model.commit.bytes)
    #expect(pin.own.generation == model.replicas[1].generation && pin.own.commit.bytes == model.replicas[1].commit.bytes)
    #expect(pin.encoded() == model.pin.bytes && model.pin.bytes.count == PinRecord.count)
  }

  @Test(.enabled(if: Witness.isThere, Witness.missing), .tags(.process), .defaultRun)
  func `the file of the model is the one that the program writes`() throws {
    #expect(try Witness.vectors() == Data(contentsOf: Vectors.root.appending(path: "Fixtures/Vectors/format-1.json")))
  }
}
