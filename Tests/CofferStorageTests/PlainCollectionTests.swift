import CofferPlatform
import CofferStorage
import Foundation
import Testing

/// Sets, identifiers, decimals, and dictionaries with keys other than text.
@Suite struct PlainCollectionTests {
  enum Weekday: Int, PlainForm.Key, PlainValue { case monday = 1, tuesday }
  struct Prefs: Codable, PlainValue, Equatable {
    var tags: Set<String> = ["b", "a", "c"]
    var id = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
    var price = Decimal(1250) / 100
    var hours = [1: 7.5]
  }
  struct Keys: KeySpace {
    let tags = StorageKey("tags", default: Set<String>())
    let id = StorageKey("id", of: UUID.self)
    let price = StorageKey("price", default: Decimal.zero)
    let names = StorageKey("names", default: [Int: String]())
    let hours = StorageKey("hours", default: [Weekday: Double]())
    let prefs = StorageKey("prefs", default: Prefs())
  }
  let keys = Keys()

  @Test func `each is stored, and is read back as it was`() throws {
    let app = try StorageRouter.inMemory(keys: keys)
    let id = UUID()
    try app.set(["x", "y"], for: keys.tags)
    try app.set(id, for: keys.id)
    try app.set(Decimal(string: "-0.10000000000000000000000000000000000001") ?? 0, for: keys.price)
    try app.set([-1: "minus", 0: "none", Int.max: "most"], for: keys.names)
    try app.set([.monday: 7.5, .tuesday: 8], for: keys.hours)
    try app.set(Prefs(tags: ["z"]), for: keys.prefs)
    #expect(try app.value(for: keys.tags) == ["x", "y"] && app.value(for: keys.id) == id)
    #expect(try app.value(for: keys.price).description == "-0.10000000000000000000000000000000000001")
    #expect(try app.value(for: keys.names) == [-1: "minus", 0: "none", Int.max: "most"])
    #expect(try app.value(for: keys.hours) == [.monday: 7.5, .tuesday: 8])
    #expect(try app.value(for: keys.prefs) == Prefs(tags: ["z"]))
    #expect(try app.plain.load("id") == .string(id.uuidString))
    #expect(try app.plain.load("hours") == .dictionary(["1": .real(7.5), "2": .real(8)]))
  }

  @Test func `equal sets have one form, in ascending order, at any depth`() throws {
    #expect(try Set([3, 1, 2]).plainForm() == .array([.integer(1), .integer(2), .integer(3)]))
    #expect(try Set([0.5, -1.5, -.infinity]).plainForm() == .array([.real(-.infinity), .real(-1.5), .real(0.5)]))
    #expect(try Set([[2], [1, 9], [1]]).plainForm() == Set([[1], [2], [1, 9]]).plainForm())

    let names = (0..<200).map { "n\($0)" }
    let form = try Set(names).plainForm()
    for _ in 0..<20 { #expect(try Set(names.shuffled()).plainForm() == form) }
    guard case .dictionary(let fields) = try Prefs().plainForm() else { return #expect(Bool(false)) }
    #expect(fields["tags"] == .array([.string("a"), .string("b"), .string("c")]))
    #expect(fields["id"] == .string("01020304-0506-0708-090A-0B0C0D0E0F10"))
    #expect(fields["price"] == .string("12.5") && fields["hours"] == .dictionary(["1": .real(7.5)]))
  }

  @Test func `what is none of the type is undecodable, and stays`() throws {
    let app = try StorageRouter.inMemory(keys: keys)
    func refuses<V>(_ key: StorageKey<V, Plain>, _ forms: PlainForm..., location: SourceLocation = #_sourceLocation) throws {
      for form in forms {
        try app.plain.save(form, for: key.name)
        let error = #expect(throws: StoreError.self, sourceLocation: location) { try app.value(for: key) }
        #expect(error?.kind == .undecodable(stored: form.kindName), "\(form)", sourceLocation: location)
        #expect(try app.plain.load(key.name) == form, sourceLocation: location)
      }
    }
    try refuses(
      keys.names, .dictionary(["one": .string("a")]), .dictionary(["07": .string("a")]), .dictionary(["+7": .string("a")]))
    try refuses(keys.names, .dictionary(["7": .integer(1)]), .array([]), .string("7"))
    try refuses(keys.hours, .dictionary(["3": .real(1)]))
    try refuses(keys.id, .string("not one"), .integer(1), .string(""))
    try refuses(keys.price, .string("1.5 EUR"), .string(""), .string("."), .string("NaN"), .bool(true), .real(.nan), .string("٣"))
    try refuses(keys.tags, .array([.integer(1)]), .string("a"))
  }

  @Test func `other forms are read where nothing is lost`() throws {
    #expect(Set<Int>(plainForm: .array([.integer(1), .integer(1)])) == [1])
    #expect(Decimal(plainForm: .integer(-7)) == -7 && Decimal(plainForm: .unsigned(.max)) == Decimal(UInt64.max))
    #expect(Decimal(plainForm: .real(0.1))?.description == "0.1" && Decimal(plainForm: .string("1e-3"))?.description == "0.001")
    #expect(UUID(plainForm: .string("01020304-0506-0708-090a-0b0c0d0e0f10")) == Prefs().id)
    #expect(throws: StoreError.self) { try Decimal.nan.plainForm() }
  }

  @Test func `overrides are read as the key's type`() throws {
    #expect(Set<String>(plainForm: .argument(#"["b","a"]"#)) == ["a", "b"])
    #expect([Int: String](plainForm: .argument(#"{"7":"x"}"#)) == [7: "x"])
    #expect(Decimal(plainForm: .argument("-12.50")) == Decimal(-1250) / 100)
    #expect(UUID(plainForm: .argument(Prefs().id.uuidString)) == Prefs().id)
  }
}
