import CofferStorage
import Foundation
import CofferTestSupport
import Testing

@testable import CofferDefaults

@Suite
struct PropertyListTests {
  private static func read(_ data: Data) throws -> PlainForm { .dictionary(try PropertyList.decode(data).values) }

  /// Both readers' values for `data`; nil if refused.
  private static func both(_ data: Data) -> (ours: PlainForm?, theirs: PlainForm?) {
    (try? read(data), (try? FoundationReader.read(data)).flatMap { if case .dictionary = $0 { $0 } else { nil } })
  }

  @Test(arguments: [
    "<string>a&amp;b&#65;&#x1F600;<![CDATA[<x>]]>c</string>", "<string/>", "<key>v</key>", "<string >a</string >",
    "<string>a\r\nb\rc</string>", "<string>&#00000065;</string>", "<string>]]></string>", "<string>a<!-- c -->b</string>",
    "<string>&nbsp;</string>", "<string>&amp</string>", "<string>&#xD83D;&#xDE00;</string>", "<STRING>a</STRING>",
    "<integer>+5</integer>", "<integer> - 7</integer>", "<integer>7 </integer>", "<integer>0x1F</integer>",
    "<integer>-0xff</integer>", "<integer>00012</integer>", "<integer>18446744073709551615</integer>",
    "<integer>18446744073709551616</integer>", "<integer>-9223372036854775808</integer>",
    "<integer>-9223372036854775809</integer>", "<integer></integer>", "<integer/>", "<integer>-0</integer>",
    "<integer>1.5</integer>", "<real>1</real>", "<real>\n1.5</real>", "<real>1.5 </real>", "<real>+1.5e3</real>",
    "<real>-.5</real>", "<real>5.</real>", "<real>NaN</real>", "<real>-inf</real>", "<real>+INFINITY</real>", "<real> nan</real>",
    "<real>0x10</real>", "<real></real>", "<real>1e999</real>", "<real>-0.0</real>", "<real>1e</real>", "<real>1&#50;</real>",
    "<real>1,5</real>", "<date>2020-02-30T00:00:00Z</date>", "<date>2020-01-01T24:61:61Z</date>",
    "<date>0001-01-01T00:00:00Z</date>", "<date>-0001-01-01T00:00:00Z</date>", "<date>12020-01-01T00:00:00Z</date>",
    "<date>1900-02-29T12:34:56Z</date>", "<date> 2020-01-01T00:00:00Z</date>", "<date>2020-01-01T00:00:00</date>", "<date/>",
    "<data>AA E=\n</data>", "<data>AAE</data>", "<data>A?A!E=</data>", "<data>AQ==AQ==</data>", "<data>AQ= =</data>",
    "<data></data>", "<data/>", "<data>é</data>", "<data>A===</data>", "<true></true>", "<true> </true>", "<false a='b'/>",
    "<array a=\"x>y\"></array>", "<array><!-- c --><true/><?pi?><false/></array>", "<array>x</array>", "<array><true/></dict>",
    "<dict/>", "<dict><key>a</key></dict>", "<dict><string>a</string><true/></dict>",
    "<dict><key>a</key><true/><key>a</key><false/></dict>", "<dict><key>CF$UID</key><integer>3</integer></dict>",
    "<dict><key>CF$UID</key><string>3</string></dict>",
  ])
  func `an element means the same`(_ element: String) {
    let found = Self.both(Data("<plist version=\"1.0\"><dict><key>k</key>\(element)</dict></plist>".utf8))
    #expect(found.ours == found.theirs)
  }

  @Test(arguments: [
    "<dict/>", "<plist/>", "<plist><dict/></plist>trailing", "<dict/>garbage", "<plist><dict/><dict/></plist>", "<plist><dict/>",
    "<plist><dict/>x</plist>", "<!-- c --><plist><!-- d --><dict/><!-- e --></plist>", "<!DOCTYPE plist><plist><dict/></plist>",
    "<!DOCTYPE plist [<!ENTITY a 'b'>]><plist><dict/></plist>",
    "<plist><!DOCTYPE plist><dict/></plist>", "<plist version=\"1.0\" /><dict/>", "<string>a</string>", "{ a = b; }", "", " ",
    "<",
    "<>", "</>", "<!", "<?", "<?xml version='1.0' encoding='US-ASCII'?><plist><dict/></plist>",
    "<?xml version='1.0' encoding='klingon'?><plist><dict/></plist>", "\u{FEFF}<dict/>", "<plist>\u{FEFF}<dict/></plist>",
  ])
  func `a document means the same`(_ document: String) {
    let found = Self.both(Data(document.utf8))
    #expect(found.ours == found.theirs)
  }

  @Test(arguments: [
    ("UTF-16", String.Encoding.utf16BigEndian, [0xFE, 0xFF] as [UInt8]), ("UTF-16", .utf16LittleEndian, [0xFF, 0xFE]),
    ("UTF-32", .utf32BigEndian, [0, 0, 0xFE, 0xFF]), ("UTF-32", .utf32LittleEndian, [0xFF, 0xFE, 0, 0]),
    ("ISO-8859-1", .isoLatin1, []), ("UTF-16", .utf16BigEndian, []),
  ])
  func `an encoding means the same`(_ name: String, _ encoding: String.Encoding, _ mark: [UInt8]) throws {
    let text = "<?xml version='1.0' encoding='\(name)'?><plist><dict><key>ö</key><string>ä</string></dict></plist>"
    let found = Self.both(Data(mark) + (try #require(text.data(using: encoding))))
    #expect(found.ours == found.theirs)
    #expect((found.ours == nil) == (mark.isEmpty && name == "UTF-16"))
  }

  @Test(arguments: [510, 511, 600]) func `collections are read as deep as by Foundation`(_ depth: Int) {
    let arrays = String(repeating: "<array>", count: depth) + String(repeating: "</array>", count: depth)
    let found = Self.both(Data("<dict><key>k</key>\(arrays)</dict>".utf8))
    #expect(found.ours == found.theirs)
  }

  @Test func `a number of a reference that Foundation would cut off is kept`() throws {
    for number in [-3, 5_000_000_000] {
      let element = "<dict><key>k</key><dict><key>CF$UID</key><integer>\(number)</integer></dict></dict>"
      let kept = PlainForm.dictionary(["k": .dictionary(["CF$UID": .integer(Int64(number))])])
      #expect(try Self.read(Data(element.utf8)) == kept)
      guard case .dictionary(let values) = kept else { continue }
      #expect(try PropertyList.decode(PropertyList.encode(values, as: .binary)).values == values)
    }
  }

  @Test(arguments: [PropertyList.Encoding.xml, .binary])
  func `what is written is what Foundation reads`(_ encoding: PropertyList.Encoding) throws {
    var values = InteropTests.values
    for count in 0..<300 {
      values["text \(count) ü"] = .string(String(repeating: "x", count: count))
      values["integer \(count)"] = .integer(Int64(count) &* 0x0123_4567_89AB)
      values["array \(count)"] = .array((0..<count).map { .real(Double($0) / 7) })
      values["data \(count)"] = .data(Data(repeating: 7, count: count))
      values["reference \(count)"] = .dictionary(["CF$UID": .integer(Int64(count) * 9999)])
    }
    let data = PropertyList.encode(values, as: encoding)
    #expect(try FoundationReader.read(data) == .dictionary(values))
    #expect(try Self.read(data) == .dictionary(values))
  }

  @Test func `a few bytes that stand for more values than there is memory are refused`() {
    // Sixty arrays, each with the next one twice: 2^60 values.
    var bytes = Array("bplist00".utf8) + [0xD1, 1, 2, 0x51, UInt8(ascii: "k")]
    var offsets: [UInt8] = [8, 11]
    for level in 2..<62 as Range<UInt8> {
      offsets.append(UInt8(bytes.count))
      bytes += [0xA2, level + 1, level + 1]
    }
    offsets.append(UInt8(bytes.count))
    bytes.append(0x09)
    let table = UInt8(bytes.count)
    bytes += offsets + [0, 0, 0, 0, 0, 0, 1, 1] + [0, 0, 0, 0, 0, 0, 0, UInt8(offsets.count)]
    bytes += [0, 0, 0, 0, 0, 0, 0, 0] + [0, 0, 0, 0, 0, 0, 0, table]
    #expect(throws: PropertyList.Failure.self) { try PropertyList.decode(Data(bytes)) }
  }

  @Test func `a date outside of the calendar has a place in XML, and one that is no number is refused`() throws {
    func list(_ seconds: Double) -> Data {
      let date = (0..<8).map { UInt8(truncatingIfNeeded: seconds.bitPattern >> (56 - 8 * UInt64($0))) }
      return Data(
        Array("bplist00".utf8) + [0xD1, 1, 2, 0x51, UInt8(ascii: "k"), 0x33] + date + [8, 11, 13] + [0, 0, 0, 0, 0, 0, 1, 1]
          + [0, 0, 0, 0, 0, 0, 0, 3] + [0, 0, 0, 0, 0, 0, 0, 0] + [0, 0, 0, 0, 0, 0, 0, 22])
    }
    for seconds in [1e300, -1e300, 1e12] {
      let values = try PropertyList.decode(list(seconds)).values
      #expect(values == ["k": .date(Date(timeIntervalSinceReferenceDate: seconds))])
      #expect(try FoundationReader.read(PropertyList.encode(values, as: .xml)) != .dictionary([:]))
    }
    for seconds in [Double.nan, .infinity] {
      #expect(throws: PropertyList.Failure.self) { try PropertyList.decode(list(seconds)) }
    }
  }

  @Test func `a collection that holds itself is refused`() {
    let bytes =
      Array("bplist00".utf8) + [0xD1, 1, 0, 0x51, UInt8(ascii: "k"), 8, 11] + [0, 0, 0, 0, 0, 0, 1, 1]
      + [0, 0, 0, 0, 0, 0, 0, 2] + [0, 0, 0, 0, 0, 0, 0, 0] + [0, 0, 0, 0, 0, 0, 0, 13]
    #expect(throws: PropertyList.Failure.self) { try PropertyList.decode(Data(bytes)) }
  }

  /// 2000 damaged lists of each encoding, 200 000 with COFFER_LONG_TESTS.
  @Test(.tags(.campaign), .wholeRun, arguments: [PropertyList.Encoding.xml, .binary])
  func `of a damaged list nothing is read that Foundation would not read`(_ encoding: PropertyList.Encoding) throws {
    let isLong = Campaign.isLong
    var dice = isLong ? Random(campaign: "damaged lists, \(encoding)") : Random(seed: 7)
    let whole = PropertyList.encode(InteropTests.values, as: encoding)
    var agreed = 0
    for _ in 0..<(isLong ? 200_000 : 2000) {
      var data = whole
      for _ in 0...Int.random(in: 0...2, using: &dice) { Self.damage(&data, &dice) }
      let found = Self.both(data)
      guard let ours = found.ours, let theirs = found.theirs else { continue }
      agreed += 1
      #expect(ours == theirs, "\(data.base64EncodedString())")
    }
    #expect(agreed > 0)
  }

  private static func damage(_ data: inout Data, _ dice: inout Random) {
    let index = Int.random(in: 0..<data.count, using: &dice)
    let end = min(data.count, index + Int.random(in: 1...40, using: &dice))
    switch Int.random(in: 0..<5, using: &dice) {
    case 0: data[index] ^= 1 << UInt8.random(in: 0..<8, using: &dice)
    case 1: data[index] = .random(in: 0...255, using: &dice)
    case 2: data.insert("<>/&;-0=\"!?".utf8.randomElement(using: &dice) ?? 0, at: index)
    case 3 where end - index < data.count: data.removeSubrange(index..<end)
    default: data.insert(contentsOf: Data(data[index..<end]), at: Int.random(in: 0..<data.count, using: &dice))
    }
  }
}
