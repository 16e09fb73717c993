import CCofferLibraries
import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import Testing

@testable import CofferSecretService

struct Refused: Error, Equatable {
  let name: String
  let text: String
}

final class BusClient {
  let bus: Bus
  var signals: [(path: String, member: String, argument: String)] = []
  let destination: String

  init(_ address: String, destination: String = "org.freedesktop.secrets") throws {
    bus = try Bus(address: address)
    self.destination = destination
  }

  static let root = "/org/freedesktop/secrets"
  static let login = root + "/collection/login"
  static let defaultAlias = root + "/aliases/default"

  /// Calls a method, and waits for its answer; signals that arrive meanwhile are kept.
  @discardableResult
  func call(
    _ path: String, _ interface: Interface, _ member: String, microseconds: UInt64 = 120_000_000,
    _ put: (BusMessage) throws(Refusal) -> Void = { _ in }
  ) throws -> BusMessage {
    try call(path, interface.name, member, microseconds: microseconds, put)
  }

  @discardableResult
  func call(
    _ path: String, _ interface: String, _ member: String, microseconds: UInt64 = 120_000_000,
    _ put: (BusMessage) throws(Refusal) -> Void = { _ in }
  ) throws -> BusMessage {
    let message = try BusMessage(callOf: member, interface, path, at: destination, bus)
    try put(message)
    var (error, answer) = (coffer_sdbus_error(name: nil, message: nil, need_free: 0), OpaquePointer?.none)
    let code = bus.library.call(bus.connection, message.raw, microseconds, &error, &answer)
    defer { bus.library.error_free(&error) }
    guard code >= 0, let answer else {
      throw Refused(
        name: error.name.map { String(cString: $0) } ?? "", text: error.message.map { String(cString: $0) } ?? "errno \(-code)")
    }
    return BusMessage(answer, bus)
  }

  /// The name of the error that `body` is refused with; empty if it succeeds.
  func refusal(_ body: () throws -> Void) rethrows -> String {
    do { try body() } catch let refused as Refused { return String(refused.name.split(separator: ".").last ?? "") }
    return ""
  }

  // MARK: What programs do

  func openPlain() throws -> String {
    let answer = try call(Self.root, .service, "OpenSession") { (message) throws(Refusal) in
      try message.put("plain")
      try message.putVariant("s") { () throws(Refusal) in try message.put("") }
    }
    try answer.skip("v")
    return try answer.objectPath()
  }

  static func put(_ secret: String, _ session: String, _ message: BusMessage, type: String = "text/plain") throws(Refusal) {
    try put(Array(secret.utf8), session, message, type: type)
  }

  static func put(_ secret: [UInt8], _ session: String, _ message: BusMessage, type: String = "text/plain") throws(Refusal) {
    try message.putStructure(Session.contents) { () throws(Refusal) in
      try message.put(path: session)
      try message.put(UnsafeRawBufferPointer(start: nil, count: 0))
      try secret.span.bytes.withUnsafeBytes { (raw) throws(Refusal) in try message.put(raw) }
      try message.put(type)
    }
  }

  func create(
    _ label: String, _ attributes: [String: String], _ secret: String, in collection: String = login, session: String,
    replace: Bool = true, type: String = "text/plain"
  ) throws -> String {
    let answer = try call(collection, .collection, "CreateItem") { (message) throws(Refusal) in
      try message.putArray("{sv}") { () throws(Refusal) in
        try message.putProperty("org.freedesktop.Secret.Item.Label", "s") { () throws(Refusal) in try message.put(label) }
        try message.putProperty("org.freedesktop.Secret.Item.Attributes", "a{ss}") { () throws(Refusal) in
          try message.put(attributes: attributes)
        }
      }
      try Self.put(secret, session, message, type: type)
      try message.put(replace)
    }
    let path = try answer.objectPath()
    #expect(try answer.objectPath() == "/")
    return path
  }

  func search(_ attributes: [String: String], in collection: String? = nil) throws -> [String] {
    let answer =
      try collection.map {
        try call($0, .collection, "SearchItems") { (message) throws(Refusal) in try message.put(attributes: attributes) }
      }
      ?? call(Self.root, .service, "SearchItems") { (message) throws(Refusal) in try message.put(attributes: attributes) }
    return try answer.paths().sorted()
  }

  func secret(_ item: String, session: String) throws -> (text: String, type: String) {
    let answer = try call(item, .item, "GetSecret") { (message) throws(Refusal) in try message.put(path: session) }
    return try answer.structure(Session.contents) { () throws(Refusal) in
      #expect(try answer.objectPath() == session)
      try answer.skip("ay")
      let text = try answer.bytes { String(decoding: $0, as: UTF8.self) }
      return (text, try answer.string())
    }
  }

  func property<Value>(
    _ path: String, _ interface: Interface, _ name: String, _ type: String, _ read: (BusMessage) throws(Refusal) -> Value
  ) throws -> Value {
    let answer = try call(path, .propertiesOf, "Get") { (message) throws(Refusal) in
      try message.put(interface.name)
      try message.put(name)
    }
    return try answer.variant(type) { () throws(Refusal) in try read(answer) }
  }

  func text(_ path: String, _ interface: Interface, _ name: String) throws -> String {
    try property(path, interface, name, "s") { (answer) throws(Refusal) in try answer.string() }
  }

  func isLocked(_ path: String = login) throws -> Bool {
    try property(path, .collection, "Locked", "b") { (answer) throws(Refusal) in try answer.flag() }
  }

  func collections() throws -> [String] {
    try property(Self.root, .service, "Collections", "ao") { (answer) throws(Refusal) in try answer.paths() }
  }

  func unlock(_ objects: [String]) throws -> (unlocked: [String], prompt: String) {
    let answer = try call(Self.root, .service, "Unlock") { (message) throws(Refusal) in try message.put(paths: objects) }
    return (try answer.paths(), try answer.objectPath())
  }

  // MARK: Signals

  func listen() throws { try bus.listen(to: "type='signal',sender='\(destination)'") }

  func hear() throws {
    while let message = try bus.next() {
      guard message.kind == .signal, message.interface.hasPrefix("org.freedesktop.Secret") else { continue }
      let argument =
        message.signature == "o" ? try message.objectPath() : message.signature == "bv" ? "\(try message.flag())" : ""
      signals.append((message.path, message.member, argument))
    }
  }

  func await(_ member: String) throws -> (path: String, member: String, argument: String)? {
    try eventually("the signal \(member) comes") {
      try hear()
      return signals.contains { $0.member == member }
    }
    return signals.first { $0.member == member }
  }
}
