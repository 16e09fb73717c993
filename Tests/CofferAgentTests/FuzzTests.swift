import CofferClient
import CofferMemory
import CofferPlatform
import CofferStorage
import CofferVault
import Foundation
import CofferTestSupport
import Testing

@testable import CofferAgent

/// Hostile messages: cut, flipped, grown and made up. `COFFER_LONG_TESTS=1` tries ten times as many.
@Suite(.tags(.campaign), .wholeRun)
struct FuzzTests {
  private static let rounds = Campaign.isLong ? 1_000_000 : 100_000

  private static func bodies() throws -> [[UInt8]] {
    let name = try ItemName(service: "service", account: "account")
    let metadata = ItemMetadata(label: "l", contentType: "t", attributes: ["k": "v"], expires: Date(timeIntervalSince1970: 9))
    func body(_ request: AgentProtocol.Request, _ put: (inout FrameWriter) throws -> Void) throws -> [UInt8] {
      var writer = try FrameWriter(request: request)
      try put(&writer)
      return try writer.withFrame { (raw) throws(StoreError) in Array(raw.dropFirst(4)) }
    }
    var batch = Batch<Vault>()
    batch.expectations = ["a": .absent]
    batch.writes = ["a": .set(try form("v", metadata)), "b": .remove]
    batch.decides = .random()
    var query = ItemQuery(service: "s")
    query.texts = ["t", "u"]
    query.attributes = [.init("k", "v")]
    query.besides = .init("m", "v")
    return [
      try body(.greet) {
        let invitation = try TestAgent.invitation()
        try $0.put(
          Greeting(
            path: "/v", vault: VaultID(bytes: Array(0..<16)), leastGeneration: 1, invitations: [invitation, invitation],
            known: [invitation]))
      },
      try body(.unlock) { try $0.put(TestAgent.credentials()) },
      try body(.get) { try $0.put(name) }, try body(.item) { try $0.put(name) }, try body(.find) { try $0.put(query) },
      try body(.apply) {
        try $0.put(2 as UInt32)
        try $0.put(.set(form("v", metadata), for: name, if: .revision(1)) as ItemChange)
        try $0.put(.move(ItemName(service: "a"), to: ItemName(service: "b").field(named: "f")) as ItemChange)
      },
      try body(.rehearse) {
        let changes: [ItemChange] = try [
          .set(form("v", metadata), for: name), .remove(ItemName(service: "a")), .undelete(ItemName(service: "b")),
        ]
        try changes.put(in: &$0)
      },
      try body(.delete) {
        try $0.put(name)
        try $0.put(.absent as WriteCondition)
        try $0.put(true)
      },
      try body(.fields) { try $0.put(name.field(named: "f")) }, try body(.revisions) { try $0.put(name) },
      try body(.revision) {
        try $0.put(name)
        try $0.put(3 as UInt64)
      },
      try body(.revert) {
        try $0.put(name)
        try $0.put(3 as UInt64)
        try $0.put(.revision(4) as WriteCondition)
      },
      try body(.undelete) { try $0.put(name) }, try body(.deleted) { try $0.put("s" as String?) },
      try body(.prune) {
        try $0.put(.olderThan(Date(timeIntervalSince1970: 5)) as PruneRule)
        try $0.put(true)
        try $0.put(name)
      },
      try body(.load) {
        try $0.put("s")
        try $0.put(1 as UInt32)
        try $0.put("n")
      },
      try body(.commit) {
        try $0.put("s")
        try $0.put(batch)
      },
      try body(.version) {
        try $0.put("s")
        try $0.put("n")
      },
      try body(.marked) { try $0.put("s") },
      try body(.watch) {
        try $0.put(true)
        try $0.put(AgentMoment(vault: VaultID(bytes: Array(1...16)), generation: 7, since: 8))
      },
      try body(.forget) { try $0.put(TransactionID.random()) }, try body(.status) { _ in },
      try body(.log) {
        try $0.put(true)
        try $0.put(5 as UInt64)
      },
      try body(.describe) { _ in },
      try body(.contents) {
        try $0.put(1 as UInt32)
        try $0.put(name)
      },
      try body(.stage) {
        try $0.put(true)
        try $0.put(1 as UInt32)
        try $0.put(ImportedItem(name: name, form: form("v", metadata), created: Date(timeIntervalSince1970: 3)))
      },
      try body(.add) {
        try $0.put(1 as UInt64)
        try $0.put(DuplicatePolicy.replace.number)
        try $0.put(2 as UInt32)
        try $0.put(false)
      },
      try body(.verify) { _ in }, try body(.stop) { _ in },
    ]
  }

  private static func mutated(_ seed: [UInt8], _ random: inout Random) -> [UInt8] {
    var bytes = seed
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      let place = Int.random(in: 0..<max(1, bytes.count), using: &random)
      switch Int.random(in: 0..<5, using: &random) {
      case 0 where !bytes.isEmpty: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      case 1 where !bytes.isEmpty: bytes[place] = [0, 1, 0x7F, 0xFF].randomElement(using: &random) ?? 0
      case 2: bytes = Array(bytes.prefix(place))
      case 3: bytes.insert(.random(in: .min ... .max, using: &random), at: min(place, bytes.count))
      default: bytes += (0..<Int.random(in: 1...9, using: &random)).map { _ in .random(in: .min ... .max, using: &random) }
      }
    }
    return bytes
  }

  private static func read(_ bytes: [UInt8]) throws {
    guard bytes.count >= 2 else { return }
    let frame = Frame(body: try bytes.span.bytes.withUnsafeBytes { try SecretBytes(copying: $0) })
    guard let request = AgentProtocol.Request(rawValue: try frame.kind()) else { return }
    try frame.arguments { (fields) throws(StoreError) in
      switch request {
      case .greet: _ = try fields.read(Greeting.self)
      case .unlock: _ = try fields.credentials()
      case .get, .item: _ = try fields.read(ItemName.self)
      case .find: _ = try fields.read(ItemQuery.self)
      case .apply, .rehearse: _ = try [ItemChange].read(from: &fields)
      case .delete:
        _ = try fields.read(ItemName.self)
        _ = try fields.read(WriteCondition.self)
        _ = try fields.flag()
      case .fields, .undelete: _ = try fields.read(ItemName.self)
      case .revisions: _ = try fields.read(VaultRevision.self)
      case .revision:
        _ = try fields.read(ItemName.self)
        _ = try fields.number(UInt64.self)
      case .deleted: _ = try fields.read(String?.self)
      case .revert:
        _ = try fields.read(ItemName.self)
        _ = try fields.number(UInt64.self)
        _ = try fields.read(WriteCondition.self)
      case .prune:
        _ = try fields.read(PruneRule.self)
        if try fields.flag() { _ = try fields.read(ItemName.self) }
      case .load:
        _ = try fields.text()
        _ = try [String].read(from: &fields)
      case .contains, .names, .version, .marked: _ = try fields.text()
      case .commit:
        _ = try fields.text()
        _ = try fields.read(Batch<Vault>.self)
      case .forget: _ = try fields.read(TransactionID.self)
      case .status: _ = try fields.read(AgentStatus.self)
      case .verify: for _ in 0..<3 { _ = try fields.number(UInt64.self) }
      case .lock: _ = try fields.read(VaultItem.self)
      case .stop: _ = try fields.error()
      case .watch: _ = try fields.read(AgentMoment?.self)
      case .log: _ = try fields.read(VaultLogEntry.self)
      case .describe: _ = try fields.read(HeldVaultDescription.self)
      case .contents: _ = try fields.read(StoredContent.self)
      case .stage:
        _ = try fields.flag()
        _ = try fields.read([ImportedItem].self)
      case .add:
        var report = ImportReport()
        try report.take(&fields)
      case .keys: _ = try [SessionBinding].read(from: &fields)
      case .use: _ = try fields.read(KeyUse.self)
      case .allow: _ = try fields.read(KeyApproval.self)
      case .put: _ = try fields.read(KeyAddition.self)
      case .drop: _ = try fields.read(KeyBlob?.self)
      case .uses: _ = try fields.read(UseEntry.self)
      case .sync: _ = try fields.read(SyncRequest?.self)
      }
    }
  }

  @Test func `no body of a frame does harm`() throws {
    var random = Random(seed: 20)
    let seeds = try Self.bodies()
    var read = 0
    for round in 0..<Self.rounds {
      do {
        try Self.read(Self.mutated(seeds[round % seeds.count], &random))
        read += 1
      } catch let error as StoreError { #expect(!error.cure.isEmpty) }
    }
    print("agent frames: \(Self.rounds) read, \(read) of them understood")
    #expect(read > 0 && read < Self.rounds)
  }

  @Test func `an agent that is sent nonsense goes on answering`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    try agent.client().set(form("v"), for: ItemName(service: "x"))
    var random = Random(seed: 21)
    // Not those that unlock, lock or stop: an obedient agent is no failure.
    let seeds = try Self.bodies().filter { ![2, 3, 4, 5].contains($0[1]) }
    let rounds = Self.rounds / 50
    for round in 0..<rounds {
      let socket = try agent.connect()
      var body = Self.mutated(seeds[round % seeds.count], &random)
      if body.count > 1, [3, 4, 5].contains(body[1]) { body[1] = 2 }
      let frame = withUnsafeBytes(of: UInt32(body.count).littleEndian, Array.init) + body
      _ = frame.withUnsafeBytes { send(socket.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      if round.isMultiple(of: 2) { _ = try? socket.receive(begins: .milliseconds(50), whole: .seconds(1)) }
    }
    print("agent sockets: \(rounds) malformed messages sent")
    // Closing connections take room until they are gone, which on a busy machine may be all.
    let deadline = ContinuousClock.now + .seconds(120)
    while ContinuousClock.now < deadline, kind({ _ = try agent.client().status() }) != nil { usleep(10_000) }
    #expect(try agent.client().get(ItemName(service: "x"))?.text == "v")
  }
}
