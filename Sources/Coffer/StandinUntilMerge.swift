// Delete this file at the merge: CofferDefaults brings DefaultsStore, CofferStorage brings transaction(_:).
public import CofferStorage
internal import Foundation
internal import Synchronization
public import SystemPackage

public final class DefaultsStore: Store {
  public typealias R = Plain
  public let place: String
  private let values: Mutex<[String: PlainForm]>

  public static func open(
    domain: String, in folder: FilePath,
    decisions: @escaping @Sendable (TransactionID, String) throws(StoreError) -> Bool
  ) throws(StoreError) -> DefaultsStore {
    guard !domain.isEmpty, domain != ".", domain != "..", !domain.contains("/") else {
      throw StoreError(.invalidName, "a domain is one path component", cure: "use a name such as com.example.app")
    }
    return try DefaultsStore(place: folder.appending(domain + ".plist").string)
  }

  private init(place: String) throws(StoreError) {
    self.place = place
    do {
      var values: [String: PlainForm] = [:]
      if let data = FileManager.default.contents(atPath: place) {
        let list = try PropertyListSerialization.propertyList(from: data, format: nil)
        guard let list = list as? [String: Any] else { throw CocoaError(.propertyListReadCorrupt) }
        values = list.mapValues(Self.form)
      }
      self.values = Mutex(values)
    } catch {
      throw StoreError(.damaged, "the property list cannot be read", place: place, cure: "restore it from a copy")
    }
  }

  private static func form(_ value: Any) -> PlainForm {
    switch value {
    case let number as NSNumber:
      if String(cString: number.objCType) == "c" { return .bool(number.boolValue) }
      if let whole = value as? Int { return .integer(Int64(whole)) }
      return .real(number.doubleValue)
    case let text as String: return .string(text)
    case let date as Date: return .date(date)
    case let data as Data: return .data(data)
    case let array as [Any]: return .array(array.map(form))
    case let items as [String: Any]: return .dictionary(items.mapValues(form))
    default: return .string("\(value)")
    }
  }

  private static func object(_ form: PlainForm) -> Any {
    switch form {
    case .bool(let value): value
    case .integer(let value): value
    case .unsigned(let value): value
    case .real(let value): value
    case .string(let value), .argument(let value): value
    case .date(let value): value
    case .data(let value): value
    case .array(let items): items.map(object)
    case .dictionary(let items): items.mapValues(object)
    }
  }

  public func load(_ name: String) throws(StoreError) -> PlainForm? { values.withLock { $0[name] } }
  public func load(_ names: [String]) throws(StoreError) -> [Reading<Plain>] {
    values.withLock { values in names.map { Reading(form: values[$0], stamp: values[$0]) } }
  }
  public func contains(_ name: String) throws(StoreError) -> Bool { values.withLock { $0[name] != nil } }
  public func names() throws(StoreError) -> [String] { values.withLock { $0.keys.sorted() } }
  public func update(_ name: String, _ body: (PlainForm?) throws(StoreError) -> PlainForm?) throws(StoreError) {
    try save(body(load(name)), for: name)
  }
  public func commit(_ batch: Batch<Plain>, decision: Decision?) throws(StoreError) {
    for name in batch.writes.keys { try StoredName.check(name) }
    try decision?.make(.random())
    values.withLock { values in for (name, write) in batch.writes { values[name] = write.form } }
  }
  public func forget(_ transaction: TransactionID) throws(StoreError) {}
  public func synchronize() throws(StoreError) {
    do {
      let data = try PropertyListSerialization.data(
        fromPropertyList: values.withLock { $0.mapValues(Self.object) }, format: .xml, options: 0)
      let folder = FilePath(place).removingLastComponent().string
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try data.write(to: URL(fileURLWithPath: place), options: .atomic)
    } catch { throw StoreError(.io(5), "could not write", place: place, cure: "see the system's message", underlying: error) }
  }
  public func close() throws(StoreError) { try synchronize() }
  public func explain(_ key: String) throws(StoreError) -> Explanation { Explanation(description: "\(place)") }
  public struct Explanation: CustomStringConvertible { public let description: String }
}

public enum DefaultsDomain {
  public static func list(in folder: FilePath) throws(StoreError) -> [String] {
    guard let files = try? FileManager.default.contentsOfDirectory(atPath: folder.string) else { return [] }
    return files.filter { $0.hasSuffix(".plist") && !$0.hasPrefix(".") }.map { String($0.dropLast(6)) }.sorted()
  }
}

extension StorageRouter {
  public struct StandinTransaction {
    let router: StorageRouter
    public func set<V, R>(_ value: V, for key: StorageKey<V, R>) throws(StoreError) { try router.set(value, for: key) }
    public func remove<V, R>(_ key: StorageKey<V, R>) throws(StoreError) { try router.remove(key) }
  }
  public func transaction(_ body: (StandinTransaction) throws -> Void) throws { try body(StandinTransaction(router: self)) }
}

extension Bool: PlainValue {
  public init?(plainForm: PlainForm) {
    guard case .bool(let value) = plainForm else { return nil }
    self = value
  }
  public func plainForm() throws -> PlainForm { .bool(self) }
}

extension String: PlainValue {
  public init?(plainForm: PlainForm) {
    guard case .string(let value) = plainForm else { return nil }
    self = value
  }
  public func plainForm() throws -> PlainForm { .string(self) }
}
