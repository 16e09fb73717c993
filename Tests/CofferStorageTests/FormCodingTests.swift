import CofferTestSupport
import Foundation
import Testing

@testable import CofferStorage

@Suite struct FormCodingTests {
  private func roundTrip<V: Codable & Equatable>(_ value: V) throws -> PlainForm {
    let form = try FormEncoder.encode(value)
    #expect(try FormDecoder.decode(V.self, from: form) == value)
    return form
  }

  @Test func `a struct becomes native structure, without its nil fields`() throws {
    let form = try roundTrip(Window())
    #expect(
      form
        == .dictionary([
          "width": .integer(800), "opened": .date(Date(timeIntervalSince1970: 1_700_000_000)), "icon": .data(Data([1, 2])),
          "home": .string("/srv/app/"), "notes": .dictionary(["a": .real(1.5)]),
          "panes": .array([
            .dictionary(["isOpen": .bool(true), "ratio": .real(Double(Float(0.1))), "limit": .unsigned(.max)])
          ]),
        ]))
    #expect(try FormDecoder.decode(Window.self, from: form).title == nil)
  }

  @Test func `scalars, collections and enums stand at the top`() throws {
    #expect(try roundTrip(3) == .integer(3))
    #expect(try roundTrip(Data([1])) == .data(Data([1])))
    #expect(try roundTrip(Size.large) == .integer(2))
    #expect(try roundTrip([1, 2]) == .array([.integer(1), .integer(2)]))
    #expect(try roundTrip([1: "a"]) == .dictionary(["1": .string("a")]))
    #expect(try roundTrip(Optional("x")) == .string("x"))
    #expect(try roundTrip([String: Int]()) == .dictionary([:]))
    #expect(try roundTrip([[Int]]()) == .array([]))
    _ = try roundTrip(UUID())
    _ = try roundTrip(Decimal(string: "12.75"))
    _ = try roundTrip(Shape.circle(radius: 2))
    _ = try roundTrip([Shape.empty, .named("a", [1])])
    _ = try roundTrip(Empty())
  }

  enum Shape: Codable, Equatable { case empty, circle(radius: Double), named(String, [Int]) }
  struct Empty: Codable, Equatable {}

  class Base: Codable {
    var id = 1
    init() {}
  }
  final class Derived: Base {
    var name = "n"
    enum CodingKeys: String, CodingKey { case name }
    override init() { super.init() }
    required init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      name = try container.decode(String.self, forKey: .name)
      try super.init(from: container.superDecoder())
    }
    override func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(name, forKey: .name)
      try super.encode(to: container.superEncoder())
    }
  }

  @Test func `a superclass has a part of its own`() throws {
    let object = Derived()
    object.id = 9
    let form = try FormEncoder.encode(object)
    #expect(form == .dictionary(["name": .string("n"), "super": .dictionary(["id": .integer(9)])]))
    #expect(try FormDecoder.decode(Derived.self, from: form).id == 9)
  }

  /// Fields in nested containers, and elements of several kinds.
  struct Nested: Codable, Equatable {
    var x = 1, list = ["a", "b"], mixed = 2.5
    enum Outer: String, CodingKey { case inner, list }
    enum Inner: String, CodingKey { case x }
    init() {}
    init(from decoder: any Decoder) throws {
      let outer = try decoder.container(keyedBy: Outer.self)
      x = try outer.nestedContainer(keyedBy: Inner.self, forKey: .inner).decode(Int.self, forKey: .x)
      var elements = try outer.nestedUnkeyedContainer(forKey: .list)
      #expect(elements.count == 3 && elements.currentIndex == 0)
      mixed = try elements.decode(Double.self)
      var strings = try elements.nestedUnkeyedContainer()
      list = []
      while !strings.isAtEnd { list.append(try strings.decode(String.self)) }
      #expect(throws: DecodingError.self) { try strings.decode(String.self) }
      #expect(try elements.nestedContainer(keyedBy: Inner.self).decodeIfPresent(Int.self, forKey: .x) == nil)
      #expect(elements.isAtEnd)
    }
    func encode(to encoder: any Encoder) throws {
      var outer = encoder.container(keyedBy: Outer.self)
      var elements = outer.nestedUnkeyedContainer(forKey: .list)
      try elements.encode(mixed)
      var strings = elements.nestedUnkeyedContainer()
      for item in list { try strings.encode(item) }
      _ = elements.nestedContainer(keyedBy: Inner.self)
      var inner = outer.nestedContainer(keyedBy: Inner.self, forKey: .inner)
      try inner.encode(x, forKey: .x)
    }
  }

  @Test func `nested containers may be filled in any order`() throws {
    let form = try roundTrip(Nested())
    #expect(
      form
        == .dictionary([
          "inner": .dictionary(["x": .integer(1)]),
          "list": .array([.real(2.5), .array([.string("a"), .string("b")]), .dictionary([:])]),
        ]))
  }

  @Test func `nil has no form of its own`() throws {
    #expect(try FormEncoder.encode(["a": Int?.none, "b": 1]) == .dictionary(["b": .integer(1)]))
    let error = try expect(.unencodable) { _ = try FormEncoder.encode([[1, nil, 3]]) }
    #expect(error.what.contains("[0][1]"))
    try expect(.unencodable) { _ = try FormEncoder.encode(Int?.none) }
  }

  struct Box<Content: Codable & Equatable>: Codable, Equatable { var content: Content }
  /// A type with its own value for an absent one.
  struct Maybe: Codable, Equatable {
    var number: Int?
    init(_ number: Int?) { self.number = number }
    init(from decoder: any Decoder) throws { number = try decoder.singleValueContainer().decode(Int?.self) }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(number)
    }
  }

  /// A type that checks for nil last.
  struct Last: Codable, Equatable {
    var text: String?
    init(_ text: String?) { self.text = text }
    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      do { text = try container.decode(String.self) } catch { guard container.decodeNil() else { throw error } }
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(text)
    }
  }
  struct Lenient: Decodable, Equatable {
    var number = 0
    init(from decoder: any Decoder) throws { number = (try? decoder.singleValueContainer().decode(Int.self)) ?? 0 }
  }
  struct LenientFields: Decodable {
    var number: Int?
    enum Key: CodingKey { case number }
    init(from decoder: any Decoder) throws {
      number = try (try? decoder.container(keyedBy: Key.self))?.decodeIfPresent(Int.self, forKey: .number)
    }
  }
  /// A type that knows nil, and refuses it.
  struct NotNil: Decodable {
    init(from decoder: any Decoder) throws {
      guard try !decoder.singleValueContainer().decodeNil() else { throw CancellationError() }
    }
  }
  struct LenientOfNotNil: Decodable {
    init(from decoder: any Decoder) throws { _ = try? decoder.singleValueContainer().decode(NotNil.self) }
  }
  struct Field<Content: Decodable>: Decodable { var content: Content }

  @Test func `a field that is nil reads back where its type can be nil, and is missing where it cannot`() throws {
    #expect(try roundTrip(Box<Int?>(content: nil)) == .dictionary([:]))
    #expect(try roundTrip(Box<Int?>(content: 3)) == .dictionary(["content": .integer(3)]))
    #expect(try roundTrip(Box<Box<Date?>?>(content: nil)) == .dictionary([:]))
    #expect(try roundTrip(Box(content: Maybe(nil))) == .dictionary([:]))
    #expect(try roundTrip(Box(content: Maybe(3))) == .dictionary(["content": .integer(3)]))
    #expect(try roundTrip(Box(content: Last(nil))) == .dictionary([:]))
    #expect(try roundTrip(Box(content: Last("a"))) == .dictionary(["content": .string("a")]))
    #expect(try roundTrip(Box(content: Empty())) == .dictionary(["content": .dictionary([:])]))
    func missing<V: Decodable>(_: V.Type) -> String? {
      let error = #expect(throws: DecodingError.self) { _ = try FormDecoder.decode(V.self, from: .dictionary([:])) }
      if case .keyNotFound(let key, _)? = error { return key.stringValue }
      return nil
    }
    #expect(missing(Box<Int>.self) == "content" && missing(Box<Size>.self) == "content")
    #expect(missing(Box<[Int?]>.self) == "content" && missing(Box<Box<Int?>>.self) == "content")
    #expect(missing(Field<Empty>.self) == "content" && missing(Field<Lenient>.self) == "content")
    #expect(missing(Field<LenientFields>.self) == "content" && missing(Field<LenientOfNotNil>.self) == "content")
  }

  struct Token: Codable, Equatable, SecretPayload { var text = "hush" }
  struct Leaky: Codable, PlainValue {
    var name = "x", tokens: [String: [Token?]] = ["hush-key": [Token()]]
  }
  enum Pin: String, PlainValue, SecretPayload { case one = "hush" }

  @Test func `a secret payload is refused at any depth`() throws {
    for error in [
      try expect(.refused) { _ = try FormEncoder.encode(Token()) },
      try expect(.refused) { _ = try FormEncoder.encode([Token()]) },
      try expect(.refused) { _ = try FormEncoder.encode(Leaky()) },
    ] {
      #expect(error.what.contains("Token") && !"\(error)".contains("hush"))
    }
    let key = StorageKey("leaky", of: Leaky.self)
    let pin = StorageKey("pin", default: Pin.one)
    let pins = StorageKey("pins", of: [String: [Pin]].self)
    struct Keys: KeySpace { let a: StorageKey<Leaky?, Plain>, b: StorageKey<Pin, Plain>, c: StorageKey<[String: [Pin]]?, Plain> }
    let app = try StorageRouter.inMemory(keys: Keys(a: key, b: pin, c: pins))
    let error = try expect(.refused) { try app.set(Leaky(), for: key) }
    #expect(error.key == "leaky" && error.what.contains("tokens.*[0]"))
    try expect(.refused) { try app.set(.one, for: pin) }
    try expect(.refused) { try app.set(["a": [.one]], for: pins) }
    #expect(try app.plain.names().isEmpty)
  }

  indirect enum Chain: Codable, Equatable {
    case end
    case link(Chain)
    static func of(_ length: Int) -> Chain { (0..<length).reduce(.end) { chain, _ in .link(chain) } }
    var isLong: Bool { if case .link = self { true } else { false } }
  }
  final class Loop: Encodable {
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(self)
    }
  }

  @Test func `nesting has a bound, both ways`() throws {
    _ = try roundTrip(Chain.of(10))
    try expect(.unencodable) { _ = try FormEncoder.encode(Chain.of(1000)) }
    try expect(.unencodable) { _ = try FormEncoder.encode(Loop()) }
    var form = PlainForm.dictionary(["end": .dictionary([:])])
    for _ in 0..<1000 { form = .dictionary(["link": .dictionary(["_0": form])]) }
    #expect(throws: DecodingError.self) { try FormDecoder.decode(Chain.self, from: form) }
    let json = String(repeating: "[", count: 300) + String(repeating: "]", count: 300)
    #expect(throws: (any Error).self) { try ArgumentJSON.form(of: json) }
  }

  struct Twice: Encodable {
    enum Key: CodingKey { case a }
    func encode(to encoder: any Encoder) throws {
      var keyed = encoder.container(keyedBy: Key.self)
      try keyed.encode(1, forKey: .a)
      var single = encoder.singleValueContainer()
      try single.encode(2)
    }
  }

  struct Crossed: Encodable {
    enum Key: CodingKey { case a }
    func encode(to encoder: any Encoder) throws {
      var keyed = encoder.container(keyedBy: Key.self)
      try keyed.encode(1, forKey: .a)
      var nested = keyed.nestedContainer(keyedBy: Key.self, forKey: .a)
      try nested.encode(2, forKey: .a)
    }
  }

  @Test func `two values in one place are an error, not a trap`() throws {
    try expect(.unencodable) { _ = try FormEncoder.encode(Twice()) }
    try expect(.unencodable) { _ = try FormEncoder.encode(Crossed()) }
  }

  /// Requests a field's container once for each part.
  struct Parts: Codable, Equatable {
    var street = "s", city = "c", tags = ["a", "b"]
    enum Outer: CodingKey { case address, tags }
    enum Inner: CodingKey { case street, city }
    init() {}
    init(from decoder: any Decoder) throws {
      let outer = try decoder.container(keyedBy: Outer.self)
      let address = try outer.nestedContainer(keyedBy: Inner.self, forKey: .address)
      street = try address.decode(String.self, forKey: .street)
      city = try address.decode(String.self, forKey: .city)
      tags = try outer.decode([String].self, forKey: .tags)
    }
    func encode(to encoder: any Encoder) throws {
      var outer = encoder.container(keyedBy: Outer.self)
      var one = outer.nestedContainer(keyedBy: Inner.self, forKey: .address)
      try one.encode(street, forKey: .street)
      var two = outer.nestedContainer(keyedBy: Inner.self, forKey: .address)
      try two.encode(city, forKey: .city)
      for tag in tags {
        var list = outer.nestedUnkeyedContainer(forKey: .tags)
        try list.encode(tag)
      }
    }
  }

  @Test func `a container that is asked for again has what is in it`() throws {
    let address = PlainForm.dictionary(["street": .string("s"), "city": .string("c")])
    #expect(
      try roundTrip(Parts()) == .dictionary(["address": address, "tags": .array([.string("a"), .string("b")])]))
  }

  @Test func `a number out of a field's range is undecodable`() {
    for form in [PlainForm.real(1e300), .real(0.5), .unsigned(.max), .string("hush")] {
      let error = #expect(throws: DecodingError.self) {
        try FormDecoder.decode([String: Int8].self, from: .dictionary(["a": form]))
      }
      #expect(!"\(String(describing: error))".contains("hush"))
    }
    #expect(throws: DecodingError.self) { try FormDecoder.decode(Window.self, from: .integer(1)) }
    #expect(throws: DecodingError.self) { try FormDecoder.decode(Window.self, from: .dictionary([:])) }
  }

  @Test func `an argument reads as the JSON of a struct`() throws {
    let text = #"{"width": 3, "opened": "2024-05-01", "icon": "aGk=", "home": "/x", "panes": [], "notes": {"a": 1}}"#
    let window = try #require(Window(plainForm: .argument(text)))
    #expect(window.width == 3 && window.icon == Data("hi".utf8) && window.notes == ["a": 1])
    #expect(window.opened == Date(timeIntervalSince1970: 1_714_521_600))
    #expect(Window(plainForm: .argument("3")) == nil && Window(plainForm: .argument("{")) == nil)
    #expect(try FormDecoder.decode(UUID?.self, from: .argument("E621E1F8-C36C-495A-93FC-0C247A3E6E5F")) != nil)
  }

  @Test func `Int128 is refused, as no property list holds it`() {
    #expect(throws: (any Error).self) { try FormEncoder.encode(["a": Int128(1)]) }
    #expect(throws: (any Error).self) { try FormDecoder.decode([Int128].self, from: .array([.integer(1)])) }
  }
}
