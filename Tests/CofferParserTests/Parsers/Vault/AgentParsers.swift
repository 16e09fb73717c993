import CofferClient
import CofferMemory
import CofferPlatform
import CofferStorage
import CofferVault
import Foundation

#if canImport(FuzzShared)
  import FuzzShared
#endif

@testable import CofferAgent

/// Messages between an agent and its clients. The first byte of an answer selects the request.
enum AgentParsers {
  static let all = [request, answer]

  private typealias Fields = FrameReader
  private typealias Writer = FrameWriter

  static let request = Parser("agent-request") { body in
    let frame = try frame(body)
    guard let request = AgentProtocol.Request(rawValue: try frame.kind()) else { return }
    try keeps(body, "a request", try read(request, frame))
  }

  private static func read(_ request: AgentProtocol.Request, _ frame: borrowing Frame) throws(StoreError) -> Rewriting? {
    switch request {
    case .status, .lock, .stop, .verify, .describe:
      try frame.noArguments()
      return .nothing
    case .greet:
      return Rewriting(try frame.arguments { (fields) throws(StoreError) in try fields.read(Greeting.self) }) { try $1.put($0) }
    case .unlock:
      try frame.arguments { (fields) throws(StoreError) in
        _ = try fields.credentials()
        _ = try fields.read(UnlockTimes.self)
      }
      return nil
    case .get, .item, .fields, .revisions, .undelete:
      return Rewriting(try frame.arguments { (fields) throws(StoreError) in try fields.read(ItemName.self) }) { try $1.put($0) }
    case .find:
      return Rewriting(try frame.arguments { (fields) throws(StoreError) in try fields.read(ItemQuery.self) }) { try $1.put($0) }
    case .apply, .rehearse:
      return Rewriting(try frame.arguments { (fields) throws(StoreError) in try [ItemChange].read(from: &fields) }) {
        try $0.put(in: &$1)
      }
    case .delete:
      try frame.arguments { (fields) throws(StoreError) in
        _ = (try fields.read(ItemName.self), try fields.read(WriteCondition.self), try fields.read(Date?.self))
      }
      return nil
    case .revision, .revert:
      try frame.arguments { (fields) throws(StoreError) in
        _ = (try fields.read(ItemName.self), try fields.number(UInt64.self))
        if request == .revert { _ = try fields.read(WriteCondition.self) }
      }
      return nil
    case .deleted:
      return Rewriting(try frame.arguments { (fields) throws(StoreError) in try fields.read(String?.self) }) { try $1.put($0) }
    case .prune:
      try frame.arguments { (fields) throws(StoreError) in
        _ = try fields.read(PruneRule.self)
        if try fields.flag() { _ = try fields.read(ItemName.self) }
      }
      return nil
    case .load:
      try frame.arguments { (fields) throws(StoreError) in _ = (try fields.text(), try [String].read(from: &fields)) }
      return nil
    case .contains, .version:
      try frame.arguments { (fields) throws(StoreError) in _ = (try fields.text(), try fields.text()) }
      return nil
    case .names:
      try frame.arguments { (fields) throws(StoreError) in _ = (try fields.read(String?.self), try fields.text()) }
      return nil
    case .marked: return Rewriting(try frame.arguments { (fields) throws(StoreError) in try fields.text() }) { try $1.put($0) }
    case .commit:
      let (service, batch) = try frame.arguments { (fields) throws(StoreError) in
        (try fields.text(), try fields.read(Batch<Vault>.self))
      }
      return Rewriting((service, batch), isOrdered: false) { pair, writer in
        try writer.put(pair.0)
        try writer.put(pair.1)
      }
    case .forget:
      return Rewriting(try frame.arguments { (fields) throws(StoreError) in try fields.read(TransactionID.self) }) {
        try $1.put($0)
      }
    case .watch:
      return Rewriting(try frame.arguments { (fields) throws(StoreError) in try fields.read(AgentMoment?.self) }) {
        moment, writer in
        try writer.put(moment != nil)
        if let moment { try writer.put(moment) }
      }
    case .log:
      try frame.arguments { (fields) throws(StoreError) in if try fields.flag() { _ = try fields.number(UInt64.self) } }
      return nil
    case .contents:
      return Rewriting(try frame.arguments { (fields) throws(StoreError) in try [ItemName].read(from: &fields) }) {
        try $0.put(in: &$1)
      }
    case .stage:
      try frame.arguments { (fields) throws(StoreError) in _ = (try fields.flag(), try fields.read([ImportedItem].self)) }
      return nil
    case .add:
      try frame.arguments { (fields) throws(StoreError) in
        _ = (try fields.number(UInt64.self), try DuplicatePolicy(number: fields.number()), try fields.number(UInt32.self))
        _ = try fields.flag()
      }
      return nil
    case .keys:
      return Rewriting(try frame.arguments { (fields) throws(StoreError) in try [SessionBinding].read(from: &fields) }) {
        try $0.put(in: &$1)
      }
    case .use:
      return Rewriting(try frame.arguments { (fields) throws(StoreError) in try fields.read(KeyUse.self) }) { try $1.put($0) }
    case .allow:
      // A passphrase may have attributes, in any order.
      let approval = try frame.arguments { (fields) throws(StoreError) in try fields.read(KeyApproval.self) }
      return Rewriting(approval, isOrdered: false) { try $1.put($0) }
    case .put:
      let addition = try frame.arguments { (fields) throws(StoreError) in try fields.read(KeyAddition.self) }
      return Rewriting(addition, isOrdered: false) { try $1.put($0) }
    case .drop:
      return Rewriting(try frame.arguments { (fields) throws(StoreError) in try fields.read(KeyBlob?.self) }) { try $1.put($0) }
    case .uses:
      return Rewriting(try frame.arguments { (fields) throws(StoreError) in try fields.read(UInt64?.self) }) { try $1.put($0) }
    case .sync:
      return Rewriting(try frame.arguments { (fields) throws(StoreError) in try fields.read(SyncRequest?.self) }) {
        try $1.put($0)
      }
    }
  }

  static let answer = Parser("agent-answer") { input in
    let (first, body) = input.choice
    let frame = try frame(body)
    let kind = try frame.answerKind()
    try frame.arguments { (fields) throws(StoreError) in
      guard kind != .failed else { return _ = try fields.error() }
      guard let request = AgentProtocol.Request(rawValue: first) else { return }
      switch request {
      case .item, .apply, .fields, .deleted, .revert, .undelete:
        _ = try pages(&fields) { (fields) throws(StoreError) in try fields.read(VaultItem.self) }
      case .revisions: _ = try pages(&fields) { (fields) throws(StoreError) in try fields.read(VaultRevision.self) }
      case .find:
        var found = ItemDescriptions(place: "agent")
        _ = try pages(&fields) { (fields) throws(StoreError) in
          try fields.withPrefixed { (raw) throws(StoreError) in try found.append(raw) }
        }
        _ = try found.items()
      case .names: _ = try pages(&fields) { (fields) throws(StoreError) in try fields.text() }
      case .load: _ = try pages(&fields) { (fields) throws(StoreError) in try fields.read(Reading<Vault>.self) }
      case .marked:
        _ = try pages(&fields) { (fields) throws(StoreError) in (try fields.text(), try fields.read(RecordVersion.self)) }
      case .contents: _ = try pages(&fields) { (fields) throws(StoreError) in try fields.read(StoredContent.self) }
      case .log: _ = try pages(&fields) { (fields) throws(StoreError) in try fields.read(VaultLogEntry.self) }
      case .get, .revision: _ = try fields.read(SecretForm?.self)
      case .status, .unlock: _ = try fields.read(AgentStatus.self)
      case .describe: _ = try fields.read(HeldVaultDescription.self)
      case .version: _ = try fields.read(RecordVersion.self)
      case .watch: _ = try fields.read(AgentMoment.self)
      case .delete, .contains: _ = try fields.flag()
      case .prune: _ = try fields.number(UInt64.self)
      case .verify: for _ in 0..<3 { _ = try fields.number(UInt64.self) }
      case .add:
        var report = ImportReport()
        _ = try pages(&fields) { (fields) throws(StoreError) in try report.take(&fields) }
      case .greet: _ = try fields.number(UInt8.self)
      case .keys: _ = try pages(&fields) { (fields) throws(StoreError) in try fields.read(KeyListing.self) }
      case .use: _ = try pages(&fields) { (fields) throws(StoreError) in try fields.read(KeyOutcome.self) }
      case .put: _ = try pages(&fields) { (fields) throws(StoreError) in try fields.text() }
      case .drop: _ = try pages(&fields) { (fields) throws(StoreError) in try fields.number(UInt64.self) }
      case .uses: _ = try pages(&fields) { (fields) throws(StoreError) in try fields.read(UseEntry.self) }
      case .sync:
        let parts = try pages(&fields) { (fields) throws(StoreError) in try fields.plainBytes(limit: 1 << 20) }
        _ = try [SyncOutcome](json: Array(parts.joined()))
      case .lock, .stop, .commit, .forget, .stage, .rehearse, .allow: return
      }
    }
  }

  private static func pages<Element>(
    _ fields: inout FrameReader, _ element: (inout FrameReader) throws(StoreError) -> Element
  ) throws(StoreError) -> [Element] {
    var elements: [Element] = []
    for _ in 0..<(try fields.count(ofAtLeast: 1)) { elements.append(try element(&fields)) }
    return elements
  }

  private static func frame(_ body: [UInt8]) throws -> Frame {
    // A shorter one is no frame: the receiver counts.
    guard body.count >= 2 else { throw FrameReader.malformed("it is no frame") }
    return Frame(body: try VaultParsers.secret(body))
  }

  private struct Rewriting {
    let put: (inout FrameWriter) throws -> Void
    /// Whether its parts have one order.
    let isOrdered: Bool

    static var nothing: Rewriting { Rewriting(()) { _, _ in } }

    init<Value>(
      _ value: Value, isOrdered: Bool = true, _ put: @escaping (Value, inout FrameWriter) throws -> Void
    ) {
      self.put = { writer in try put(value, &writer) }
      self.isOrdered = isOrdered
    }
  }

  /// A message has one form: only in a set may the sender choose lengths and order.
  private static func keeps(_ body: [UInt8], _ what: String, _ rewriting: Rewriting?) throws {
    guard let rewriting, let request = AgentProtocol.Request(rawValue: body[1]) else { return }
    var writer = try FrameWriter(request: request)
    try rewriting.put(&writer)
    let written = writer.withFrame { Array($0.dropFirst(4)) }
    let isSame = rewriting.isOrdered && ![.apply, .rehearse].contains(request) ? written == body : written.count == body.count
    try promise(isSame, "\(what) \(request) has another encoding")
  }
}
