import Coffer
import CofferStorage
import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferFormats
@testable import CofferTerminal

@Suite struct ImportSeedAndDateTests {
  private static let otherSeeds: [String] =
    ["steam://JBSWY3DPEHPK3PXP", "otpauth://hotp/a?secret=JBSWY3DPEHPK3PXP&counter=1", "no seed!", "JBSWY3DPE"]
    + ["encoder=steam", "algorithm=MD5", "digits=5", "digits=10", "period=0"].map {
      "otpauth://totp/a?secret=JBSWY3DPEHPK3PXP&\($0)"
    }

  /// An entry `a` with a password and a seed, in each format with seeds, and the seed's name there.
  private static func entries(_ seed: String) -> [(text: String, format: ImportFormat, name: String)] {
    let texts = [("Title", "a"), ("Password", "pw"), ("otp", seed.replacing("&", with: "&amp;"))].map {
      "<String><Key>\($0)</Key><Value>\($1)</Value></String>"
    }
    return [
      (#"{"items":[{"type":1,"name":"a","login":{"password":"pw","totp":"\#(seed)"}}]}"#, .bitwarden, "totp"),
      ("name,login_uri,login_username,login_password,login_totp\na,,,pw,\(seed)\n", .bitwarden, "login_totp"),
      (
        #"""
        {"accounts":[{"vaults":[{"attrs":{"name":""},"items":[{"overview":{"title":"a"},"details":{"password":"pw","sections":[
         {"fields":[{"title":"code","value":{"totp":"\#(seed)"}}]}]}}]}]}]}
        """#, .onePassword, "code"
      ),
      ("Title,Url,Username,Password,OTPAuth,Archived\na,,,pw,\(seed),false\n", .onePassword, "OTPAuth"),
      (
        "<KeePassFile><Root><Group><Entry>\(texts.joined())</Entry></Group></Root></KeePassFile>", .keepass, "otp"
      ),
      ("Group,Title,Username,Password,URL,Notes,TOTP\n,a,,pw,,,\(seed)\n", .keepass, "TOTP"),
    ]
  }

  private func pass(_ text: String, _ style: PassBody.Style) throws -> EntryItems {
    var entry = ImportedEntry()
    entry.service = "a"
    try PassBody.read(Home.secret(text), style: style, into: &entry)
    var found = ImportedEntries()
    found.add(entry)
    return try EntryItems(found)
  }

  @Test(arguments: otherSeeds)
  func `a seed of which no codes are made is a field under its own name and is told, in every format`(seed: String) throws {
    for (text, format, name) in Self.entries(seed) {
      let found = try ImportFixture.items(Data(text.utf8), format)
      #expect(found.values == ["a/": "pw", "a/#\(name)": seed], "\(format) \(name)")
      #expect(found.reasons == ["a: \(name) (\(LeftOut.otherCodes))"], "\(format) \(name)")
    }
    for style in [PassBody.Style.pass, .gopass] {
      let found = try pass("pw\ntotp: \(seed)\n", style)
      #expect(found.values == ["a/": "pw", "a/#totp": seed] && found.reasons == ["a: totp (\(LeftOut.otherCodes))"])
    }
  }

  @Test func `a seed of which codes are made is told in no format`() throws {
    let seed = "otpauth://totp/a?secret=JBSWY3DPEHPK3PXP&digits=8&period=60&algorithm=SHA256"
    for (text, format, name) in Self.entries(seed) {
      let found = try ImportFixture.items(Data(text.utf8), format)
      #expect(found.values == ["a/": "pw", "a/#otpauth": seed] && found.reasons.isEmpty, "\(format) \(name)")
    }
    let found = try pass("pw\n\(seed)\n", .pass)
    #expect(found.values == ["a/": "pw", "a/#otpauth": seed] && found.reasons.isEmpty)
  }

  @Test func `a date that cannot be read is told in every format, and the item comes in without it`() throws {
    let times = "<CreationTime>soon</CreationTime><LastModificationTime>2026-11-22T18:00:00Z</LastModificationTime>"
    func keePass(_ expires: String) -> String {
      """
      <KeePassFile><Root><Group><Entry><String><Key>Title</Key><Value>a</Value></String><String><Key>Password</Key><Value>pw</Value>\
      </String><Times>\(times)<ExpiryTime>never</ExpiryTime><Expires>\(expires)</Expires></Times></Entry></Group></Root></KeePassFile>
      """
    }
    let cases: [(String, ImportFormat, [String])] = [
      (
        #"{"items":[{"type":1,"name":"a","creationDate":"soon","revisionDate":"2026-11-22T18:00:00.1234567Z","login":{"password":"pw"}}]}"#,
        .bitwarden, ["created"]
      ),
      (
        #"{"items":[{"type":1,"name":"a","creationDate":1763834400,"revisionDate":"2026-11-22T18:00Z","login":{"password":"pw"}}]}"#,
        .bitwarden, ["created"]
      ),
      (
        #"""
        {"accounts":[{"vaults":[{"attrs":{"name":""},"items":[
         {"createdAt":-5,"updatedAt":1763834400,"overview":{"title":"a"},"details":{"password":"pw"}}]}]}]}
        """#, .onePassword, ["created"]
      ),
      (keePass("False"), .keepass, ["created"]), (keePass("True"), .keepass, ["created", "expires"]),
      (
        "Group,Title,Username,Password,URL,Notes,Last Modified,Created\n,a,,pw,,,2026-11-22T18:00:00Z,22.11.2026\n", .keepass,
        ["created"]
      ),
    ]
    for (text, format, dates) in cases {
      let found = try ImportFixture.items(Data(text.utf8), format)
      #expect(found.values == ["a/": "pw"], "\(text)")
      #expect(found.reasons == dates.map { "a: \($0) (\(LeftOut.unreadDate))" }, "\(text)")
      #expect(found.items[0].created == nil && found.items[0].modified != nil && found.said("a/")?.expires == nil, "\(text)")
    }
    let none = #"{"items":[{"type":1,"name":"a","creationDate":null,"revisionDate":"","login":{"password":"pw"}}]}"#
    #expect(try ImportFixture.items(Data(none.utf8), .bitwarden).reasons.isEmpty)
    let firefox =
      "url,username,password,httpRealm,guid,timeCreated,timePasswordChanged\nhttps://a.example,,pw,,,1700000000000,soon\n"
    #expect(
      try ImportFixture.items(Data(firefox.utf8), .firefox).reasons == ["https://a.example: modified (\(LeftOut.unreadDate))"])
  }

  @Test func `of KeePass no seed is lost, and none is read as another kind of code than it makes`() throws {
    func read(_ strings: [(String, String)]) throws -> EntryItems {
      let entry = strings.map { "<String><Key>\($0)</Key><Value ProtectInMemory=\"True\">\($1)</Value></String>" }.joined()
      let text =
        "<KeePassFile><Root><Group><Entry><String><Key>Title</Key><Value>a</Value></String>\(entry)</Entry></Group></Root></KeePassFile>"
      return try ImportFixture.items(Data(text.utf8), .keepass)
    }
    let uri = "otpauth://totp/a?secret=JBSWY3DPEHPK3PXP"
    for (settings, isKnown) in [
      ("30;S", false), ("60;8", true), ("60;8;https://time.example", true), ("60", false), ("60;x", false), ("0;6", false),
    ] {
      let found = try read([("TOTP Seed", "JBSWY3DPEHPK3PXP"), ("TOTP Settings", settings)])
      if isKnown {
        #expect(found.values == ["a/": "", "a/#otpauth": "\(uri)&digits=8&period=60"] && found.reasons.isEmpty, "\(settings)")
      } else {
        #expect(found.values == ["a/": "", "a/#TOTP Seed": "JBSWY3DPEHPK3PXP"], "\(settings)")
        #expect(found.said("a/")?.attributes == ["TOTP Settings": settings])
        #expect(found.reasons == ["a: TOTP Seed (\(LeftOut.otherCodes))"])
      }
    }
    let two = try read([("TimeOtp-Secret-Base32", "GEZDGNBVGY3TQOJQ"), ("TimeOtp-Algorithm", "HMAC-SHA-256"), ("otp", uri)])
    #expect(two.values == ["a/": "", "a/#otpauth": uri, "a/#TimeOtp-Secret-Base32": "GEZDGNBVGY3TQOJQ"])
    #expect(two.said("a/")?.attributes == ["TimeOtp-Algorithm": "HMAC-SHA-256"] && two.reasons.isEmpty)
    let same = try read([("TimeOtp-Secret-Base32", "JBSWY3DPEHPK3PXP"), ("TOTP Seed", "JBSWY3DPEHPK3PXP")])
    #expect(same.values == ["a/": "", "a/#otpauth": uri])
    let own = try read([
      ("TimeOtp-Secret-Base32", "JBSWY3DPEHPK3PXP"), ("TimeOtp-Algorithm", "HMAC-SHA-512"), ("TimeOtp-Length", "8"),
    ])
    #expect(own.values["a/#otpauth"] == "\(uri)&algorithm=SHA512&digits=8")
    for key in ["TimeOtp-Secret", "TimeOtp-Secret-Hex", "TimeOtp-Secret-Base64", "HmacOtp-Secret-Base32"] {
      let found = try read([(key, "JBSWY3DPEHPK3PXP"), ("TOTP Seed", "GEZDGNBVGY3TQOJQ")])
      #expect(
        found.values == ["a/": "", "a/#\(key)": "JBSWY3DPEHPK3PXP", "a/#otpauth": "otpauth://totp/a?secret=GEZDGNBVGY3TQOJQ"])
      #expect(found.reasons == ["a: \(key) (\(LeftOut.otherCodes))"])
    }
  }

  @Test func `of two seeds in an entry of 1Password the first that makes codes makes the item's, and the other is a field`()
    throws
  {
    let text = #"""
      {"accounts":[{"vaults":[{"attrs":{"name":""},"items":[{"overview":{"title":"a"},"details":{"sections":[{"fields":[
       {"title":"one","value":{"totp":"otpauth://totp/a?secret=JBSWY3DPEHPK3PXP"}},{"title":"two","value":{"totp":"GEZDGNBVGY3TQOJQ"}}
      ]}]}}]}]}]}
      """#
    let found = try ImportFixture.items(Data(text.utf8), .onePassword)
    #expect(found.values == ["a/": "", "a/#otpauth": "otpauth://totp/a?secret=JBSWY3DPEHPK3PXP", "a/#two": "GEZDGNBVGY3TQOJQ"])
    #expect(found.reasons.isEmpty)
    let steam = text.replacing("totp/a?", with: "totp/a?encoder=steam&")
    let other = try ImportFixture.items(Data(steam.utf8), .onePassword)
    #expect(
      other.values == [
        "a/": "", "a/#one": "otpauth://totp/a?encoder=steam&secret=JBSWY3DPEHPK3PXP",
        "a/#otpauth": "otpauth://totp/a?secret=GEZDGNBVGY3TQOJQ",
      ])
    #expect(other.reasons == ["a: one (\(LeftOut.otherCodes))"])
  }

  @Test func `a seed of one-time passwords becomes the URI that holds it`() throws {
    func made(_ text: String, _ digits: Int? = nil, label: String = "a b") throws -> String? {
      let seed = try #require(try OneTimeSeed(SecretForm(Home.secret(text)), digits: digits))
      guard try seed.makesCodes() else { return nil }
      let uri = try seed.uri(for: label)
      _ = try OneTimeURI.read(uri.bytes)
      return uri.plainText
    }
    #expect(try made("OTPAUTH://totp/x?secret=MY") == "OTPAUTH://totp/x?secret=MY")
    #expect(try made("jbsw y3dp-ehpk3pxp", 8) == "otpauth://totp/a%20b?secret=JBSWY3DPEHPK3PXP&digits=8")
    #expect(try made("steam://ABC") == nil && made("jbswy3dpe") == nil && made("jbswy3dp=") == nil)
    // At the greatest lengths of seed and label, the URI is readable again.
    let label = String(repeating: "é", count: 100)
    #expect(try made(String(repeating: "A", count: 2048), 8, label: label) != nil)
    #expect(try made(String(repeating: "A", count: 2056), 8, label: label) == nil)
    #expect(OneTimeSeed(nil).map { _ in 0 } == nil)
  }
}
