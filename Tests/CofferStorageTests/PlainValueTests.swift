import CofferTestSupport
import Foundation
import Testing

@testable import CofferStorage

@Suite struct PlainValueTests {
  private func roundTrip<V: PlainValue & Equatable>(_ value: V, _ form: PlainForm) throws {
    #expect(try value.plainForm() == form)
    #expect(V(plainForm: form) == value)
  }

  @Test func `every kind has its native form`() throws {
    try roundTrip(true, .bool(true))
    try roundTrip(Int.min, .integer(.min))
    try roundTrip(Int8(-8), .integer(-8))
    try roundTrip(Int16.max, .integer(32767))
    try roundTrip(Int32.min, .integer(-2_147_483_648))
    try roundTrip(Int64.max, .integer(.max))
    try roundTrip(UInt8.max, .integer(255))
    try roundTrip(UInt16(7), .integer(7))
    try roundTrip(UInt32.max, .integer(4_294_967_295))
    try roundTrip(UInt64(Int64.max), .integer(.max))
    try roundTrip(UInt64(Int64.max) + 1, .unsigned(1 << 63))
    try roundTrip(UInt.max, .unsigned(.max))
    try roundTrip(1.5, .real(1.5))
    try roundTrip(Double.infinity, .real(.infinity))
    try roundTrip(Float(0.1), .real(Double(Float(0.1))))
    try roundTrip("né\u{1F600}", .string("né\u{1F600}"))
    try roundTrip(Date(timeIntervalSince1970: 1.25), .date(Date(timeIntervalSince1970: 1.25)))
    try roundTrip(Data([0, 255]), .data(Data([0, 255])))
    try roundTrip(["a", "b"], .array([.string("a"), .string("b")]))
    try roundTrip(["k": [1, 2]], .dictionary(["k": .array([.integer(1), .integer(2)])]))
    try roundTrip([Theme.dark], .array([.string("dark")]))
    try roundTrip(Size.large, .integer(2))
    #expect(Double(plainForm: .real(.nan))?.isNaN == true)
  }

  @Test func `numbers read from other forms where nothing is lost`() {
    #expect(Int(plainForm: .real(3)) == 3)
    #expect(Int(plainForm: .bool(true)) == 1)
    #expect(Bool(plainForm: .integer(1)) == true && Bool(plainForm: .integer(0)) == false)
    #expect(Double(plainForm: .integer(3)) == 3)
    #expect(Float(plainForm: .real(0.1)) == 0.1)
    #expect(Int(plainForm: .unsigned(5)) == 5)
    #expect(UInt64(plainForm: .real(1e19)) == 10_000_000_000_000_000_000)
  }

  @Test func `numbers out of range or with a fraction are undecodable`() {
    #expect(Int(plainForm: .real(3.5)) == nil)
    #expect(Int(plainForm: .real(1e300)) == nil && Int(plainForm: .real(.nan)) == nil && Int(plainForm: .real(.infinity)) == nil)
    #expect(Int(plainForm: .unsigned(.max)) == nil)
    #expect(UInt(plainForm: .integer(-1)) == nil && UInt(plainForm: .real(-0.5)) == nil)
    #expect(Int8(plainForm: .integer(128)) == nil && UInt8(plainForm: .integer(256)) == nil)
    #expect(Double(plainForm: .integer(.max)) == nil, "2^63 - 1 has no exact Double")
    #expect(Float(plainForm: .real(1e300)) == nil)
    #expect(Bool(plainForm: .integer(2)) == nil && Bool(plainForm: .real(1)) == nil)
    #expect(Size(plainForm: .integer(9)) == nil && Theme(plainForm: .string("blue")) == nil)
  }

  @Test func `kinds are not mixed`() {
    #expect(String(plainForm: .integer(1)) == nil && Int(plainForm: .string("1")) == nil)
    #expect(Bool(plainForm: .string("YES")) == nil && Date(plainForm: .string("2026-01-01")) == nil)
    #expect(Data(plainForm: .string("aGk=")) == nil && [Int](plainForm: .string("[1]")) == nil)
    #expect([Int](plainForm: .array([.integer(1), .string("2")])) == nil)
    #expect(String(plainForm: .bool(true)) == nil && URL(plainForm: .integer(1)) == nil)
  }

  @Test(
    arguments: [
      ("YES", true), ("yes", true), ("No", false), ("TRUE", true), ("false", false), ("1", true), ("0", false), ("on", nil),
      ("", nil),
    ] as [(String, Bool?)])
  func `an argument reads as a boolean`(text: String, value: Bool?) { #expect(Bool(plainForm: .argument(text)) == value) }

  @Test func `an argument is typed by the key`() {
    #expect(
      Int(plainForm: .argument("-7")) == -7 && Int(plainForm: .argument("7.5")) == nil && Int(plainForm: .argument("")) == nil)
    #expect(UInt8(plainForm: .argument("255")) == 255 && UInt8(plainForm: .argument("256")) == nil)
    #expect(UInt64(plainForm: .argument("18446744073709551615")) == .max && UInt(plainForm: .argument("-1")) == nil)
    #expect(Double(plainForm: .argument("-2.5e3")) == -2500 && Float(plainForm: .argument("0.5")) == 0.5)
    #expect(String(plainForm: .argument("007")) == "007")
    #expect(Theme(plainForm: .argument("dark")) == .dark && Size(plainForm: .argument("2")) == .large)
    #expect(Data(plainForm: .argument("aGk=")) == Data("hi".utf8) && Data(plainForm: .argument("a!")) == nil)
    #expect(Data(plainForm: .argument("<68 6948>")) == Data("hiH".utf8) && Data(plainForm: .argument("<>")) == Data())
    for bad in ["<6>", "<6g>", "<68", "<"] { #expect(Data(plainForm: .argument(bad)) == nil) }
    #expect([Int](plainForm: .argument("[1, -2]")) == [1, -2] && [Int](plainForm: .argument("[1, null]")) == nil)
    #expect([String: [Double]](plainForm: .argument(#"{"a": [1, 2.5]}"#)) == ["a": [1, 2.5]])
    #expect([Int](plainForm: .argument("[1")) == nil && [Int](plainForm: .argument("{}")) == nil)
    #expect(URL(plainForm: .argument("https://example.org/a?b")) == URL(string: "https://example.org/a?b"))
  }

  @Test(
    arguments: [
      ("2024-05-01T10:00:00Z", 1_714_557_600), ("2024-05-01T12:00:00.5+02:00", 1_714_557_600.5), ("2024-05-01", 1_714_521_600),
      ("2024-02-31", nil), ("2024-05-01T25:00:00Z", nil), ("2024-05-01T10:61:00Z", nil), ("2024-05-01T10:00:00Zjunk", nil),
      ("2024-05-01x", nil), ("today", nil), ("", nil), ("-1", nil), ("2024-13-01T10:00:00Z", nil),
    ] as [(String, Double?)])
  func `an argument reads as an ISO 8601 date`(text: String, seconds: Double?) {
    #expect(Date(plainForm: .argument(text)) == seconds.map(Date.init(timeIntervalSince1970:)))
  }

  @Test(arguments: [
    "file:///srv/a%20b/", "file:///srv/a", "https://example.org/x%2Fy?q=1#f", "mailto:a@b.c", "file://host/x", "a/b",
  ])
  func `a URL comes back as it was`(text: String) throws {
    let url = try #require(URL(string: text))
    #expect(try URL(plainForm: url.plainForm())?.absoluteString == text)
  }

  @Test(arguments: ["/api/v1", "~/notes", "//example.org/a"])
  func `a URL without a scheme that begins as a path does is refused, for it would come back as a file's`(text: String) throws {
    let url = try #require(URL(string: text))
    let error = try expect(.unencodable) { _ = try url.plainForm() }
    #expect(!"\(error)".contains(text))
    try expect(.unencodable) { _ = try FormEncoder.encode(["link": url]) }
  }

  @Test func `a file URL is stored as the path that Foundation reads`() throws {
    #expect(try URL(filePath: "/srv/a b").plainForm() == .string("/srv/a b"))
    #expect(URL(plainForm: .string("~/notes"))?.path() == FileManager.default.homeDirectoryForCurrentUser.path() + "notes")
    let archive = try NSKeyedArchiver.archivedData(
      withRootObject: #require(NSURL(string: "https://example.org/a?b=1")), requiringSecureCoding: true)
    #expect(URL(plainForm: .data(archive))?.absoluteString == "https://example.org/a?b=1")
    #expect(URL(plainForm: .data(Data([1, 2, 3]))) == nil)
  }
}
