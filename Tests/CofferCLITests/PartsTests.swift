import CofferTestSupport
import Coffer
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferFormats
@testable import CofferTerminal

@Suite(.tags(.process), .defaultRun)
struct PartsTests {
  @Test
  func `a secret becomes JSON in guarded memory: text as a string, other bytes marked as Base64`() throws {
    func literal(_ bytes: [UInt8]) throws -> String {
      let secret = try SecretBytes(bytes)
      return try SecretJSON.literal(secret).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
    #expect(try literal(Array("a\"b\\c\n\u{1}é".utf8)) == #""a\"b\\c\n\u0001é""#)
    #expect(try literal([]) == "\"\"")
    for count in 0..<40 {
      let bytes = (0..<count).map { _ in UInt8.random(in: 0...255) } + [0xFF]
      #expect(try literal(bytes) == "{\"base64\":\"\(Data(bytes).base64EncodedString())\"}")
    }
  }

  @Test
  func `--expires takes a time from now, a day or a moment`() throws {
    let now = Date(timeIntervalSince1970: 1_000_000)
    #expect(try Expiry.parse("30d", now: now) == now + 30 * 86_400)
    #expect(try Expiry.parse("12h", now: now) == now + 12 * 3600)
    #expect(try Expiry.parse("2w", now: now) == now + 14 * 86_400)
    #expect(try Expiry.parse("2026-12-31", now: now) == Date(timeIntervalSince1970: 1_798_675_200))
    #expect(try Expiry.parse("2026-12-31T02:00:00+02:00", now: now) == Date(timeIntervalSince1970: 1_798_675_200))
    for wrong in ["", "d", "-1d", "0d", "1.5h", "soon", "1970-01-02", "2027-01-02T18:00", "2027-01-02 18:00:00"] {
      #expect(throws: Failure.self) { try Expiry.parse(wrong, now: now) }
    }
  }

  @Test
  func `a date is read whole or not at all, and none that the calendar does not have`() throws {
    let evening = Date(timeIntervalSince1970: 1_798_912_800)
    for text in [
      "2027-01-02T18:00:00Z", "2027-01-02T18:00:00z", "2027-01-02T19:00:00+01:00", "2027-01-02T19:00:00+01",
      "2027-01-02T16:30:00-0130", "2027-01-02T18:00Z", "2027-01-02T19:00+01:00", "2027-01-02T19:00+0100", "2027-01-02T19:00+01",
      "2027-01-02 18:00:00 +0000", "2027-01-02 18:00:00Z", "2027-01-02 19:00:00+01", "2027-01-02 18:00 +0000",
    ] {
      #expect(Moment.parse(text) == evening, "\(text)")
    }
    for text in ["2027-01-02T18:00:00.5Z", "2027-01-02T18:00:00.499999999Z"] {
      let moment = try #require(Moment.parse(text))
      #expect(abs(moment.timeIntervalSince(evening)) < 1, "\(text)")
    }
    for date in [Date(timeIntervalSince1970: 0), evening, Date(timeIntervalSince1970: 4_102_444_799), .distantFuture] {
      #expect(Moment.parse(Moment.text(date)) == date && Moment.parse(Moment.classic(date)) == date, "\(date)")
    }
    #expect(Moment.parse("2028-02-29") != nil && Moment.parse(Moment.text(Date(timeIntervalSince1970: 1e12))) != nil)
    for text in [
      "2027-01-02T18:00", "2027-01-02T18:00:00", "2027-01-02 18:00:00", "2027-01-02junk", "2027-01-02T18:00:00Zjunk", "2027-1-2",
      "2027-02-31", "2027-02-29", "2027-13-01", "2027-00-10", "2027-04-31T10:00:00Z", "2027-01-02T24:00:00Z",
      "2027-01-02T18:60:00Z", "2027-01-02T18:00:00.Z", "2027-01-02T18:00:00.1234567890Z", "2027-01-02T18:00:00+99:99",
      "2027-01-02T18:00:00-", "2027-01-02T", "2027-01-02TZ", "2027-01-02T18Z", "2027-01-02T18:0Z",
      "2027-01-02T18:00.5Z", "2027-01-02T18:00:Z", "2027-01-02T1800Z", "2027-01-02 Z", "2027-01-02\u{301}", "T", "", "  ",
    ] {
      #expect(Moment.parse(text) == nil, "\(text)")
    }
  }

  @Test
  func `generated text has the length asked for and only characters that survive a shell`() throws {
    let allowed = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    let text = try Generated.text(length: 1000).withUnsafeBytes { Array($0) }
    #expect(text.count == 1000 && text.allSatisfy(allowed.contains) && Set(text).count > 50)
  }

  @Test
  func `labels cannot move the cursor or forge a line`() {
    #expect(Printable.text("a\u{1B}[2Jb") == "a\\u{1b}[2Jb")
    #expect(Printable.line("a\nb") == "a\\nb")
  }

  @Test
  func `columns line up and end without blanks`() {
    let rows = [["a", "bb", ""], ["ccc", "d\t\n", "e"]]
    #expect(Columns.align(rows, for: Display(isTerminal: false)) == "a    bb\nccc  d\\u{9}\\n  e")
    #expect(Columns.wrap([["  1", "two words", "three"]], for: Display(isTerminal: true, width: 20)) == "  1 two words three")
    #expect(Columns.tabs(rows) == "a\tbb\t\nccc\td\\u{9}\\n\te")
  }

  @Test
  func `a search finds every encoding it promises to look for`() throws {
    let home = try Home()
    let secret = "correct-horse"
    let forms: [Data] = [
      Data("xx\(secret)yy".utf8), Data(secret.utf8.map { String(format: "%02x", $0) }.joined().utf8),
      Data(secret.utf8.map { String(format: "%02X", $0) }.joined().utf8), Data(secret.utf8).base64EncodedData(),
      Data("x\(secret)".utf8).base64EncodedData(), Data("xy\(secret)".utf8).base64EncodedData(),
      secret.data(using: .utf16LittleEndian)!, secret.data(using: .utf16BigEndian)!,
    ]
    let bytes = try SecretBytes(Array(secret.utf8))
    for (index, form) in forms.enumerated() {
      _ = try home.file("one/\(index)", form)
      #expect(try ByteSearch.find(bytes, in: ByteSearch.files(under: FilePath(home.path + "/one"))) != nil, "form \(index)")
      try FileManager.default.removeItem(atPath: home.path + "/one/\(index)")
    }
    _ = try home.file("one/none", "correct-hors e")
    #expect(try ByteSearch.find(bytes, in: ByteSearch.files(under: FilePath(home.path + "/one"))) == nil)
  }

  @Test
  func `a key file is written once, for its owner alone`() throws {
    let home = try Home()
    let path = home.path + "/k"
    _ = try NewKeyFile.write(to: path)
    let text = try home.content("k")
    #expect(text.wholeMatch(of: /PVKEY1-[0-9a-f]{72}\n/) != nil && home.mode("k") == 0o600)
    let error = #expect(throws: Failure.self) { _ = try NewKeyFile.write(to: path) }
    #expect(error?.status == .cannotCreate)
    #expect(try home.content("k") == text)
  }
}

extension SecretBytes {
  fileprivate init(_ bytes: [UInt8]) throws {
    try self.init(zeros: bytes.count)
    withUnsafeMutableBytes { $0.copyBytes(from: bytes) }
  }
}
