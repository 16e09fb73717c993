import CofferClient
import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import Testing

@testable import CofferAgent

/// Every call of the agent, with frames as a client of its own making sends them.
@Suite struct WithheldKeyTests {
  private static let value = "0123 value of the item 4567", internalValue = "0123 value of the log's key 4567"
  static let item = ItemName(sealed: "keys", "a")
  private static let moved = ItemName(sealed: "keys", "moved")
  static let gone = ItemName(sealed: "keys", "gone")
  private static let log = ItemName(sealed: "coffer.uses", "machine")

  private static func names() throws -> [ItemName] {
    try [item, moved, item.field(named: "f"), moved.field(named: "f"), gone, log]
  }

  static func bytes(_ request: AgentProtocol.Request, _ put: (inout FrameWriter) throws -> Void) throws -> [UInt8] {
    var writer = try FrameWriter(request: request)
    try put(&writer)
    return try writer.withFrame { (raw) throws(StoreError) in Array(raw) }
  }

  /// The vault of `agent`, with an item, its former version, its field and a deleted item, each with ``value``.
  private static func fill(_ agent: TestAgent, withheld: Bool) throws {
    let metadata = ItemMetadata(attributes: withheld ? ["coffer.use": "only"] : ["k": "v"])
    let vault = try agent.vault(), value = try form(value, metadata)
    for _ in 0..<3 { try vault.set(value, for: item, keeping: 9) }
    try vault.set(value, for: item.field(named: "f"), keeping: 9)
    try vault.set(value, for: gone)
    try vault.remove(gone, keptUntil: .distantFuture)
    try vault.changeInternal(.set(form(internalValue, ItemMetadata(attributes: ["coffer.use": "only"])), for: log))
  }

  /// Frames for connections of their own, which try to read values or to make them readable.
  static func frames(_ request: AgentProtocol.Request) throws -> [[[UInt8]]] {
    let names = try names()
    func one(_ put: (inout FrameWriter) throws -> Void) throws -> [[[UInt8]]] { [[try bytes(request, put)]] }
    func each(_ put: (inout FrameWriter, ItemName) throws -> Void) throws -> [[[UInt8]]] {
      try names.map { name in [try bytes(request) { try put(&$0, name) }] }
    }
    let none = ItemMetadata()
    switch request {
    case .greet: return [[]]
    case .status, .verify, .describe, .lock, .stop: return try one { _ in }
    case .unlock:
      return try one {
        try $0.put(TestAgent.credentials())
        try $0.put(UnlockTimes())
      }
    case .get, .item, .fields, .revisions, .undelete: return try each { try $0.put($1) }
    case .contents: return try each { try $0.put([$1]) } + one { try $0.put(names) }
    case .revision, .revert:
      return try (1...6 as ClosedRange<UInt64>).flatMap { revision in
        try each {
          try $0.put($1, revision)
          if request == .revert { try $0.put(WriteCondition.always) }
        }
      }
    case .find:
      return try [false, true].flatMap { ofFields in
        var query = ItemQuery()
        query.ofFields = ofFields
        let (all, text) = (query, String(value.prefix(9)))
        query.texts = [text]
        return try one { try $0.put(all) } + one { try $0.put(query) }
      }
    case .apply, .rehearse:
      let changes: [[ItemChange]] = try [
        [.describe(item, as: none)], [.describe(item.field(named: "f"), as: none)], [.set(form("x", none), for: item)],
        [.move(item, to: moved)], [.set(form("x", none), for: item)], [.describe(moved, as: none)], [.undelete(gone)],
        [.move(moved.field(named: "f"), to: item.field(named: "g"))], [.describe(log, as: none)],
        [.move(log, to: ItemName(service: "keys", account: "log"))],
      ]
      return try changes.flatMap { changes in try one { try changes.put(in: &$0) } }
    case .delete:
      return try one { try $0.put(item.field(named: "g"), WriteCondition.always, Date.distantFuture as Date?) }
    case .deleted: return try one { try $0.put(nil as String?) }
    case .prune: return try one { try $0.put(PruneRule.allBut(50), nil as ItemName?) }
    case .names: return try one { try $0.put(nil as String?, "") } + each { try $0.put($1.service as String?, "") }
    case .load: return try each { try $0.put($1.service, [$1.account]) }
    case .contains, .version: return try each { try $0.put($1.service, $1.account) }
    case .marked: return try each { try $0.put($1.service) }
    case .forget: return try one { try $0.put(TransactionID.random()) }
    case .log: return try one { try $0.put(nil as UInt64?) }
    case .watch: return try one { try $0.put(nil as AgentMoment?) }
    case .commit:
      return try each {
        var batch = Batch<Vault>()
        batch.writes[$1.account] = .set(try form("x"))
        try $0.put($1.service, batch)
      }
    case .stage: return try each { try $0.put(true, [ImportedItem(name: $1, form: form("x"))]) }
    case .add:
      return try DuplicatePolicy.allCases.flatMap { policy in
        try names.map { name in
          let late = Date.distantFuture
          let stage = try bytes(.stage) {
            let former = try ImportedItem(name: name, form: form("y"), created: nil, modified: nil, isPrevious: true)
            try $0.put(true, [former, ImportedItem(name: name, form: form("x"), modified: late)])
          }
          return [stage, try bytes(.add) { try $0.put(2 as UInt64, policy.number, 5 as UInt32, false) }]
        }
      }
    case .keys: return try one { try $0.put([] as [SessionBinding]) }
    case .use:
      return try one { try $0.put(KeyUse(blob: [1], work: .sign([2], flags: 0), bindings: [], asker: 0, ticket: nil)) }
    case .allow: return try one { try $0.put(KeyApproval.no(7)) }
    case .put: return try one { try $0.put(KeyAddition.loaded(form("x"), isConstrained: false)) }
    case .drop: return try one { try $0.put(nil as KeyBlob?) }
    case .uses: return try one { try $0.put(nil as UInt64?) }
    case .sync: return try one { try $0.put(nil as SyncRequest?) }
    }
  }

  /// All bytes of the answers to the greeting and to `frames`, on one connection, until the agent ends it; and the number of
  /// frames with an answer.
  static func answers(to frames: [[UInt8]], _ agent: TestAgent) throws -> (bytes: [UInt8], count: Int) {
    let socket = try agent.connect()
    let greeting = try bytes(.greet) { try $0.put(Greeting(path: agent.settings.vault.description)) }
    var (all, count) = ([UInt8](), -1)
    for frame in [greeting] + frames {
      let sent = frame.withUnsafeBytes { send(socket.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard sent == frame.count else { break }
      var isLast = false
      while !isLast {
        switch try socket.receive(begins: .seconds(120), whole: .seconds(120)) {
        case .frame(let answer):
          let body = answer.body.withUnsafeBytes { Array($0) }
          isLast = body[1] != AgentProtocol.Answer.more.rawValue
          all += body
        case .closed: return (all, count)
        case .silence: return (all, count)
        }
      }
      count += 1
    }
    return (all, count)
  }

  /// The calls whose answers hold the values, of all calls in turn. Those that replace items come late, and the others again
  /// after them.
  private static func doors(withheld: Bool) throws -> (ofItem: Set<AgentProtocol.Request>, ofLog: Set<AgentProtocol.Request>) {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    try fill(agent, withheld: withheld)
    var (ofItem, ofLog, asked) = (Set<AgentProtocol.Request>(), Set<AgentProtocol.Request>(), 0)
    let replacing: [AgentProtocol.Request] = [.add, .commit], ending: [AgentProtocol.Request] = [.lock, .stop]
    let rest = AgentProtocol.Request.allCases.filter { !(replacing + ending).contains($0) }
    for request in rest + replacing + rest + ending {
      for frames in try Self.frames(request) {
        let (bytes, count) = try answers(to: frames, agent), found = Data(bytes)
        #expect(!found.isEmpty)
        asked += count
        if found.range(of: Data(value.utf8)) != nil { ofItem.insert(request) }
        if found.range(of: Data(internalValue.utf8)) != nil { ofLog.insert(request) }
      }
    }
    print("agent calls: \(asked) requests of \(rest.count + 4) kinds, \(ofItem.count) kinds with the value")
    return (ofItem, ofLog)
  }

  @Test func `no call's answer holds a withheld value, nor that of an internal item, whatever was called before`() throws {
    let withheld = try Self.doors(withheld: true)
    #expect(withheld.ofItem.isEmpty && withheld.ofLog.isEmpty)
    // The same requests find what is not withheld.
    let ordinary = try Self.doors(withheld: false)
    #expect(ordinary.ofItem == [.get, .revision, .load, .contents] && ordinary.ofLog.isEmpty)
  }

  @Test func `a client's refusals say which item, and an owner's process still reads it`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    try Self.fill(agent, withheld: true)
    let client = agent.client()
    for isAlone in [true, false] {
      let error = try expect(.refused) {
        if isAlone { _ = try client.get(Self.item) } else { _ = try client.contents(of: [Self.gone, Self.item]) }
      }
      #expect(error.key == "keys/a" && !error.cure.contains("coffer "))
    }
    #expect(kind { _ = try agent.store("keys").load("a") } == .refused)
    #expect(kind { try agent.store("keys").save(form("x"), for: "a") } == .refused)
    #expect(try agent.vault().get(Self.item)?.text == Self.value)
    try client.set(form("v"), for: ItemName(service: "b"))
    var (lent, left) = ([String](), [String]())
    try client.forEachItem(withFields: true, withoutValue: { left.append($0.name.description) }) { item, _ in
      lent.append(item.name.description)
    }
    #expect(lent == ["b"] && left == ["keys/a", "keys/a#f"])
    try client.remove(ItemName(service: "b"))
    // What it counts and lists is without internal items.
    let said = try client.ask(Calls.describe)
    #expect(try said.status.items == 1 && client.list().map(\.name) == [Self.item] && agent.vault().verify().items == 2)
  }
}
