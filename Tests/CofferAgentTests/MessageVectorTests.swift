import CofferClient
import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import Testing

@testable import CofferAgent

/// The messages of `Fixtures/Agent/messages.json`, from which somebody writes another client.
@Suite struct MessageVectorTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardizedFileURL
  private static let file = root.appending(path: "Fixtures/Agent/messages.json")

  private struct Vector {
    let call: String, message: String, fields: String, bytes: [UInt8]
  }

  /// One text for equal fields.
  private static func text(_ fields: Any) throws -> String {
    String(decoding: try JSONSerialization.data(withJSONObject: fields, options: .sortedKeys), as: UTF8.self)
  }

  private static func vectors() throws -> [Vector] {
    let table = try #require(try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any])
    #expect(table["version"] as? Int == Int(AgentProtocol.version))
    return try #require(table["messages"] as? [[String: Any]]).map { message in
      Vector(
        call: try #require(message["call"] as? String), message: try #require(message["message"] as? String),
        fields: try text(try #require(message["fields"])),
        bytes: try HexDigits.bytes(try #require(message["bytes"] as? String)))
    }
  }

  /// What a message says, and how the same is written.
  private typealias Read = (fields: [String: Any], put: (inout FrameWriter) throws(StoreError) -> Void)

  private static func pages<Element: WireValue>(
    _ fields: inout FrameReader, _: Element.Type, _ key: String, _ json: (Element) -> Any
  ) throws(StoreError) -> Read {
    var elements: [Element] = []
    for _ in 0..<(try fields.count(ofAtLeast: 1)) { elements.append(try Element.read(from: &fields)) }
    return (
      [key: elements.map(json)],
      { (writer) throws(StoreError) in
        try writer.put(UInt32(elements.count))
        for element in elements { try element.put(in: &writer) }
      }
    )
  }

  private static func request(_ call: AgentProtocol.Request, _ fields: inout FrameReader) throws(StoreError) -> Read {
    switch call {
    case .greet:
      let greeting = try fields.read(Greeting.self)
      let said: [String: Any] = [
        "place": greeting.path, "vault": hex(greeting.vault?.bytes ?? []), "generation": greeting.leastGeneration ?? 0,
        "invitations": [String](), "known": [String](),
        "behalf": greeting.behalf.map { ["process": $0.process, "program": $0.program] as [String: Any] } ?? NSNull() as Any,
      ]
      return (said, { (writer) throws(StoreError) in try writer.put(greeting) })
    case .status, .lock, .stop: return ([:], { (_) throws(StoreError) in })
    case .unlock:
      let credentials = try fields.credentials(), times = try fields.read(UnlockTimes.self)
      func said(_ secret: borrowing SecretBytes?) -> Any {
        switch secret {
        case .some(let secret): secret.withUnsafeBytes { hex(Array($0)) }
        case .none: NSNull()
        }
      }
      let texts: [String: Any] = [
        "passphrase": said(credentials.passphrase), "keyFile": said(credentials.keyFile),
        "recoveryCode": said(credentials.recoveryCode), "identity": said(credentials.identity),
        "idle": times.idle?.components.seconds ?? 0, "lifetime": times.lifetime?.components.seconds ?? 0,
      ]
      var writer = try FrameWriter(request: .unlock)
      try writer.put(credentials)
      try writer.put(times)
      let bytes = writer.withFrame { Array($0.dropFirst(6)) }
      return (texts, { (writer) throws(StoreError) in for byte in bytes { try writer.put(byte) } })
    case .get, .item:
      let name = try fields.read(ItemName.self)
      return (json(name), { (writer) throws(StoreError) in try writer.put(name) })
    case .apply:
      let changes = try [ItemChange].read(from: &fields)
      let said = changes.map { change -> Any in
        guard case .set(let form, let name, let condition, let kept) = change else { return "another change" }
        return [
          "type": 1, "name": json(name), "condition": condition == .always ? 0 : 1, "form": json(form),
          "kept": kept ?? NSNull() as Any,
        ] as [String: Any]
      }
      return (["changes": said], { (writer) throws(StoreError) in try changes.put(in: &writer) })
    case .delete:
      let (name, condition, date) = (
        try fields.read(ItemName.self), try fields.read(WriteCondition.self), try fields.read(Date?.self)
      )
      let said = json(name).merging(["condition": condition == .always ? 0 : 1, "until": json(date)]) { $1 }
      return (
        said,
        { (writer) throws(StoreError) in
          try writer.put(name)
          try writer.put(condition)
          try writer.put(date)
        }
      )
    case .contains, .version:
      let (service, account) = (try fields.text(), try fields.text())
      return (
        ["service": service, "account": account],
        { (writer) throws(StoreError) in
          try writer.put(service)
          try writer.put(account)
        }
      )
    case .names:
      let (service, beginning) = (try fields.optionalText(), try fields.text())
      return (
        ["service": service ?? NSNull() as Any, "beginning": beginning],
        { (writer) throws(StoreError) in
          try writer.put(optional: service)
          try writer.put(beginning)
        }
      )
    case .watch:
      let moment = try fields.read(AgentMoment?.self)
      return (
        ["known": moment.map(json) ?? NSNull() as Any],
        { (writer) throws(StoreError) in
          try writer.put(moment != nil)
          if let moment { try writer.put(moment) }
        }
      )
    default: throw .malformed("there is no vector of this call")
    }
  }

  private static func answer(_ call: AgentProtocol.Request?, _ fields: inout FrameReader) throws(StoreError) -> Read {
    switch call {
    case .greet:
      let highest = try fields.number(UInt8.self)
      return (["highest": highest], { (writer) throws(StoreError) in try writer.put(highest) })
    case .status, .unlock:
      let status = try fields.read(AgentStatus.self)
      return (json(status), { (writer) throws(StoreError) in try writer.put(status) })
    case .lock: return ([:], { (_) throws(StoreError) in })
    case .get:
      let form = try fields.read(SecretForm?.self)
      return (["form": form.map(json) ?? NSNull() as Any], { (writer) throws(StoreError) in try writer.put(form) })
    case .item, .apply: return try pages(&fields, VaultItem.self, "items") { json($0) }
    case .names: return try pages(&fields, String.self, "names") { $0 }
    case .delete, .contains:
      let found = try fields.flag()
      return (["found": found], { (writer) throws(StoreError) in try writer.put(found) })
    case .version:
      let version = try fields.read(RecordVersion.self)
      return (["version": hex(version.bytes)], { (writer) throws(StoreError) in try writer.put(version) })
    case .watch:
      let moment = try fields.read(AgentMoment.self)
      return (json(moment), { (writer) throws(StoreError) in try writer.put(moment) })
    default: throw .malformed("there is no vector of this call")
    }
  }

  private static func failure(_ fields: inout FrameReader) throws(StoreError) -> Read {
    let error = try fields.error()
    var limit = 0
    if case .tooLarge(let most) = error.kind { limit = most }
    let said: [String: Any] = [
      "kind": error.kind.code, "first": limit, "second": 0, "detail": error.remedy?.rawValue ?? "", "what": error.what,
      "key": error.key ?? NSNull() as Any, "place": error.place ?? NSNull() as Any, "cure": error.cure,
      "cause": error.underlying.map { "\($0)" } ?? NSNull() as Any,
    ]
    return (said, { (writer) throws(StoreError) in try writer.put(error) })
  }

  @Test func `each public message is read as its fields say, and written again to the byte`() throws {
    let vectors = try Self.vectors()
    for vector in vectors {
      let body = Array(vector.bytes.dropFirst(4))
      let frame = Frame(body: try body.span.bytes.withUnsafeBytes { try SecretBytes(copying: $0) })
      let call = AgentProtocol.Request.allCases.first { "\($0)" == vector.call }
      var fields: [String: Any] = [:], written: [UInt8] = []
      if vector.message == "request" {
        let call = try #require(call)
        #expect(try frame.kind() == call.rawValue)
        let put: (inout FrameWriter) throws(StoreError) -> Void
        (fields, put) = try frame.arguments { (reader) throws(StoreError) in try Self.request(call, &reader) }
        var writer = try FrameWriter(request: call)
        try put(&writer)
        written = writer.withFrame { Array($0) }
      } else {
        let kind = try frame.answerKind()
        #expect("\(kind)" == vector.message)
        let put: (inout FrameWriter) throws(StoreError) -> Void
        (fields, put) = try frame.arguments { (reader) throws(StoreError) in
          try kind == .failed ? Self.failure(&reader) : Self.answer(call, &reader)
        }
        var writer = try FrameWriter(answer: kind)
        try put(&writer)
        written = writer.withFrame { Array($0) }
      }
      #expect(try Self.text(fields) == vector.fields, "\(vector.call) \(vector.message)")
      #expect(written == vector.bytes, "\(vector.call) \(vector.message)")
    }
    print("messages of the agent's protocol: \(vectors.count)")
  }

  private static func python(_ words: [String], environment: [String: String] = [:]) throws -> (status: Int32, text: String) {
    let process = Process(), output = Pipe()
    process.executableURL = URL(filePath: "/usr/bin/python3")
    process.arguments = ["-B"] + words
    process.currentDirectoryURL = root.appending(path: "Tests/Witness")
    process.environment = ["PATH": "/usr/bin:/bin"].merging(environment) { $1 }
    (process.standardOutput, process.standardError) = (output, output)
    do { try process.run() } catch { try Test.skip(without: "python3") }
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: data, as: UTF8.self))
  }

  @Test(.tags(.process), .defaultRun)
  func `a client in Python made from the text alone reads and writes each public message`() throws {
    let checked = try Self.python(["agent_vectors.py", "check", Self.file.path()])
    let count = try Self.vectors().count
    #expect(checked.status == 0 && checked.text == "\(count)\n", "\(checked.text)")
    let printed = try Self.python(["agent_vectors.py", "print"])
    #expect(try printed.text == String(contentsOf: Self.file, encoding: .utf8))
  }

  @Test(.tags(.process), .defaultRun)
  func `a backend of keyring over the client in Python passes keyring's own tests at an agent`() throws {
    guard try Self.python(["-c", "import keyring.testing.backend"]).status == 0 else {
      try Test.skip(without: "keyring, or pytest, for /usr/bin/python3")
    }
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    // The agent's folder is the run folder of this home, so that the client finds it by itself.
    let home = agent.folder.string
    let tests = try Self.python(
      ["-m", "pytest", "-q", "-p", "no:cacheprovider", "agent_keyring.py"],
      environment: ["HOME": home, "COFFER_HOME": home, "COFFER_VAULT": agent.settings.vault.description])
    #expect(tests.status == 0 && tests.text.contains(" passed"), "\(tests.text)")
    print("keyring's tests over the agent: \(tests.text.split(separator: "\n").last ?? "")")
  }
}

/// A message's parts, as `Tests/Witness/agent_vectors.py` writes them.
private func hex(_ bytes: [UInt8]) -> String { bytes.map { String(format: "%02x", $0) }.joined() }

private func json(_ date: Date?) -> Any { date.map { $0.timeIntervalSince1970 } ?? NSNull() as Any }

private func json(_ name: ItemName) -> [String: Any] {
  ["service": name.service, "account": name.account, "field": name.field]
}

private func json(_ metadata: ItemMetadata) -> [String: Any] {
  [
    "label": metadata.label, "contentType": metadata.contentType, "expires": json(metadata.expires),
    "attributes": metadata.attributes.map { ["name": $0.key, "value": $0.value] },
  ]
}

private func json(_ form: SecretForm) -> [String: Any] {
  ["metadata": json(form.metadata), "value": form.bytes.withUnsafeBytes { hex(Array($0)) }]
}

private func json(_ item: VaultItem) -> [String: Any] {
  [
    "id": hex(withUnsafeBytes(of: item.id.uuid) { Array($0) }), "name": json(item.name), "metadata": json(item.metadata),
    "created": json(item.created), "modified": json(item.modified), "written": json(item.written), "revision": item.revision,
    "valueBytes": item.valueBytes, "history": item.history,
  ]
}

private func json(_ moment: AgentMoment) -> [String: Any] {
  ["vault": hex(moment.vault?.bytes ?? []), "generation": moment.generation, "since": moment.since]
}

private func json(_ status: AgentStatus) -> [String: Any] {
  func left(_ idle: Duration, _ life: Duration) -> [String: Any] {
    ["idleLeft": idle.components.seconds, "lifetimeLeft": life.components.seconds]
  }
  return [
    "process": status.process, "vault": status.vault.description, "unlocked": hex(status.unlocked?.bytes ?? []),
    "whyLocked": status.whyLocked, "idle": status.idle.components.seconds, "lifetime": status.lifetime.components.seconds,
    "others": status.others.map { other in
      ["vault": other.vault.description, "id": hex(other.id.bytes)].merging(left(other.idleLeft, other.lifetimeLeft)) { $1 }
    },
    "connections": status.connections, "unlockedMemory": status.unlockedMemory,
  ].merging(left(status.idleLeft, status.lifetimeLeft)) { $1 }
}

private enum HexDigits {
  static func bytes(_ text: String) throws -> [UInt8] {
    let nibbles = text.compactMap(\.hexDigitValue)
    try #require(nibbles.count == text.count && nibbles.count.isMultiple(of: 2))
    return stride(from: 0, to: nibbles.count, by: 2).map { UInt8(nibbles[$0] << 4 | nibbles[$0 + 1]) }
  }
}
