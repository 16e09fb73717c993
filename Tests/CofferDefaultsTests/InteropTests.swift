import CofferTestSupport
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferDefaults

@Suite(.tags(.process), .defaultRun)
struct InteropTests {
  static let values: [String: PlainForm] = [
    "yes": .bool(true), "no": .bool(false), "one": .integer(1), "zero": .integer(0), "negative": .integer(-42),
    "least": .integer(.min), "greatest": .integer(.max), "unsigned": .unsigned(.max), "float": .real(Double(Float(0.1))),
    "double": .real(0.1), "whole": .real(1), "string": .string("größer <&> \"😀\"\r\n\ttab"),
    "date": .date(Date(timeIntervalSinceReferenceDate: 726_000_000)), "data": .data(Data([0, 1, 255])),
    "url": .string("/tmp/a b"),
    "array": .array([.integer(1), .bool(true), .real(2.5), .string("x"), .dictionary(["k": .array([.data(Data([7]))])])]),
    "dictionary": .dictionary(["a": .dictionary(["b": .dictionary(["c": .integer(1)])]), "t": .bool(true)]),
  ]

  @Test func `Foundation's values of every kind are read with their kind`() throws {
    let folder = try TemporaryFolder()
    try Tool("foundation-write", folder).finish()
    let store = try folder.open()
    for (name, form) in Self.values { #expect(try store.load(name) == form, "\(name)") }
    #expect(try store.names() == Self.values.keys.sorted())
  }

  @Test func `Foundation reads Coffer's values of every kind as its own`() throws {
    let ours = try TemporaryFolder(), theirs = try TemporaryFolder()
    let store = try ours.open()
    for (name, form) in Self.values { try store.save(form, for: name) }
    try store.synchronize()
    try Tool("foundation-write", theirs).finish()
    let read = try Tool("foundation-read", ours).finish()
    #expect(read == (try Tool("foundation-read", theirs).finish()))
    #expect(read.contains("yes true c") && read.contains("one 1 i") && read.contains("whole 1.0 d"))
    // Foundation writes a bare carriage return, which strict XML readers lose.
    let expected = String(decoding: try theirs.bytes(of: "d.plist"), as: UTF8.self).replacing("\r\n", with: "&#13;\n")
    #expect(try ours.bytes(of: "d.plist") == Data(expected.utf8), "the same structure, byte for byte")
  }

  @Test(arguments: [PropertyListSerialization.PropertyListFormat.xml, .binary])
  func `the encoding found is kept, and what Coffer does not know survives`(
    _ format: PropertyListSerialization.PropertyListFormat
  ) throws {
    let folder = try TemporaryFolder()
    let text = """
      <plist version="1.0"><dict><key>ref</key><dict><key>CF$UID</key><integer>3</integer></dict>
      <key></key><string>empty name</string><key>old</key><array><true/></array></dict></plist>
      """
    let list = try PropertyListSerialization.propertyList(from: Data(text.utf8), options: [], format: nil)
    let data = try PropertyListSerialization.data(fromPropertyList: list, format: format, options: 0)
    try data.write(to: URL(filePath: folder.file("d.plist").string))
    let store = try folder.open()
    try store.save(.integer(1), for: "new")
    try store.synchronize()
    try store.save(nil, for: "new")
    try store.synchronize()
    let found = try folder.bytes(of: "d.plist")
    #expect(found.starts(with: Data("bplist".utf8)) == (format == .binary))
    // A binary list has no order, so both are compared as XML.
    #expect(try xml(found) == xml(data))
  }

  private func xml(_ data: Data) throws -> Data {
    let list = try PropertyListSerialization.propertyList(from: data, options: [], format: nil)
    return try PropertyListSerialization.data(fromPropertyList: list, format: .xml, options: 0)
  }

  @Test func `a fraction of a second is cut off when set in XML, never rounded up, and kept in a binary list`() throws {
    let folder = try TemporaryFolder()
    let date = PlainForm.date(Date(timeIntervalSinceReferenceDate: 10.75))
    let store = try folder.open()
    let now = Date()
    try store.save(.date(now), for: "now")
    guard case .date(let found)? = try store.load("now") else { throw CancellationError() }
    #expect(found <= now && now.timeIntervalSince(found) < 1)
    try store.save(.date(Date(timeIntervalSinceReferenceDate: -10.25)), for: "past")
    #expect(try store.load("past") == .date(Date(timeIntervalSinceReferenceDate: -11)))
    try store.save(.array([date]), for: "nested")
    #expect(try store.load("nested") == .array([.date(Date(timeIntervalSinceReferenceDate: 10))]))
    try store.save(date, for: "t")
    #expect(try store.load("t") == .date(Date(timeIntervalSinceReferenceDate: 10)))
    try store.close()
    let again = try folder.open(isShared: false)
    #expect(try again.load("t") == .date(Date(timeIntervalSinceReferenceDate: 10)))

    let empty = try PropertyListSerialization.data(fromPropertyList: [String: Int](), format: .binary, options: 0)
    try empty.write(to: URL(filePath: folder.file("b.plist").string))
    let binary = try folder.open(domain: "b")
    try binary.save(date, for: "t")
    try binary.close()
    #expect(try folder.bytes(of: "b.plist").starts(with: Data("bplist".utf8)))
    #expect(try folder.open(domain: "b", isShared: false).load("t") == date)
  }

  @Test func `a carriage return is a reference, which every reader of XML gives back as it was`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open()
    let text = "a\r\nb\rc\n & d\r"
    try store.save(.string(text), for: "k")
    try store.save(.dictionary(["n\r": .integer(1)]), for: "names")
    try store.close()
    let data = try folder.bytes(of: "d.plist")
    #expect(!data.contains(13))
    #expect(data.firstRange(of: Data("a&#13;\nb&#13;c\n &amp; d&#13;".utf8)) != nil)
    let theirs = try PropertyListSerialization.propertyList(from: data, options: [], format: nil) as? [String: Any]
    #expect(theirs?["k"] as? String == text)
    #expect((theirs?["names"] as? [String: Int])?["n\r"] == 1)
    #expect(try folder.open(isShared: false).load("k") == .string(text))
    let python = Process()
    python.executableURL = URL(filePath: "/usr/bin/env")
    let program = "import plistlib, sys; sys.exit(plistlib.load(open(sys.argv[1], 'rb'))['k'].encode().hex() != sys.argv[2])"
    let hex = Data(text.utf8).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    python.arguments = ["python3", "-c", program, folder.file("d.plist").string, hex]
    python.standardError = FileHandle.nullDevice
    try python.run()
    python.waitUntilExit()
    if python.terminationStatus == 127 { return Test.skipPart(without: "python3") }
    #expect(python.terminationStatus == 0)
  }

  @Test func `of names that Unicode holds for one, a list has the last, and says nothing of the other`() throws {
    let folder = try TemporaryFolder()
    try folder.write(
      """
      <plist version="1.0"><dict><key>\u{E9}</key><integer>1</integer><key>e\u{301}</key><integer>2</integer></dict></plist>
      """, to: "d.plist")
    let store = try folder.open()
    let found = try store.contents()
    #expect(found.count == 1)
    #expect(try store.load("\u{E9}") == store.load("e\u{301}"))
    let theirs = try PropertyListSerialization.propertyList(from: folder.bytes(of: "d.plist"), options: [], format: nil)
    print("Foundation:", (theirs as? [String: Int]) ?? [:], "Coffer:", found)
  }

  @Test func `a change by Foundation is seen by a running store and not overwritten by its fold`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open()
    try store.save(.integer(1), for: "mine")
    try store.synchronize()
    try Tool("foundation-set", folder, "theirs", "7").finish()
    try store.save(.integer(2), for: "mine")
    try eventually { try store.load("theirs") == .integer(7) }
    try store.synchronize()
    let fresh = try folder.open(isShared: false)
    #expect(try fresh.load("theirs") == .integer(7))
    #expect(try fresh.load("mine") == .integer(2))
  }

  @Test func `setting back a value that Foundation changed is not dropped as equal`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open()
    try store.save(.integer(1), for: "k")
    try store.synchronize()
    try Tool("foundation-set", folder, "k", "2").finish()
    try store.save(.integer(1), for: "k")
    try store.synchronize()
    #expect(try folder.open(isShared: false).load("k") == .integer(1))
  }

  @Test func `Foundation sees a write soon, without any call`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open(foldsWhenIdle: true)
    try store.save(.integer(1), for: "one")
    let begin = ContinuousClock.now
    #expect(try eventually { try Tool("foundation-read", folder).finish().contains("one 1 i") })
    print("Foundation read what was set \(ContinuousClock.now - begin) before")
  }
}
