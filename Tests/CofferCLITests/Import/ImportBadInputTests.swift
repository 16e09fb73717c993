import Coffer
import CofferStorage
import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferFormats
@testable import CofferTerminal

/// Truncated, hostile or differently encoded files: read in full or refused with a named error.
@Suite struct ImportBadInputTests {
  private static func error(_ text: String, _ format: ImportFormat) -> StoreError? {
    error(Data(text.utf8), format)
  }

  private static func error(_ bytes: Data, _ format: ImportFormat) -> StoreError? {
    do { _ = try ImportFixture.items(bytes, format) } catch let error as StoreError { return error } catch {}
    return nil
  }

  private static func itemsError(_ text: String) -> StoreError? {
    do { _ = try JSONItems.read(ImportFixture.secret(Data(text.utf8)), place: "file") } catch let error as StoreError {
      return error
    } catch {}
    return nil
  }

  @Test(arguments: ImportFixture.texts.map(\.file))
  func `wherever a file is cut, it is refused, or what is before the cut is read`(file: String) throws {
    let whole = try ImportFixture.content(file)
    let format = try #require(ImportFixture.texts.first { $0.file == file }?.format)
    let all = try ImportFixture.items(whole, format).items.count
    var refused = 0, cuts = 0
    for length in stride(from: 0, to: whole.trimmedCount, by: 9) {
      cuts += 1
      do {
        #expect(try ImportFixture.items(whole.prefix(length), format).items.count <= all)
      } catch let error as StoreError {
        #expect(error.kind == .damaged && error.cure.contains("nothing was imported"), "\(length): \(error)")
        refused += 1
      }
    }
    if file.hasSuffix(".json") || file.hasSuffix(".xml") { #expect(refused == cuts) }
    print("import of \(file): cut at \(cuts) places, refused at \(refused)")
  }

  @Test func `UTF-16 is read by its mark, and any other encoding is refused before a password is changed`() throws {
    let text = "name,url,username,password\nshop,https://shop.example,änn,pässwörd 😀\n"
    let little = try #require(text.data(using: .utf16LittleEndian)), big = try #require(text.data(using: .utf16BigEndian))
    for bytes in [Data([0xFF, 0xFE]) + little, Data([0xFE, 0xFF]) + big, Data([0xEF, 0xBB, 0xBF]) + Data(text.utf8)] {
      #expect(try ImportFixture.items(bytes, .chrome).values == ["shop.example/änn": "pässwörd 😀"])
    }
    let latin = try #require("name,url,username,password\na,b,ann,pässword\n".data(using: .isoLatin1))
    for bytes in [latin, little, big, Data([0xFF, 0xFE]) + little.dropLast(), Data([0xFF, 0xFE, 0x00, 0xD8, 0x41, 0x00])] {
      let error = Self.error(bytes, .chrome)
      #expect(error?.kind == .damaged && error?.what.contains("UTF-") == true, "\(error?.what ?? "read")")
    }
  }

  @Test func `a file that is no text is told what it is`() throws {
    for (bytes, what) in [
      (Data([0x50, 0x4B, 0x03, 0x04, 0, 0]), "a ZIP archive"),
      (Data([0x50, 0x4B, 0x05, 0x06] + [UInt8](repeating: 0, count: 18)), "a ZIP archive"),
      (Data("SQLite format 3\0".utf8), "an SQLite database"), (Data([0x03, 0xD9, 0xA2, 0x9A, 0x67]), "a KeePass database"),
      (Data("name,url\0,username".utf8), "NUL bytes"), (Data([0x61, 0xFF]), "neither UTF-8 nor UTF-16"),
    ] {
      let error = Self.error(bytes, .chrome)
      #expect(error?.kind == .damaged && error?.what.contains(what) == true, "\(what): \(error?.what ?? "read")")
      #expect(error?.cure.hasSuffix("nothing was imported") == true)
    }
  }

  @Test(arguments: [
    (#"{"coffer":1,"items":[{"service":"a","value":"1","value":"hunter2"}]}"#, ImportFormat.json),
    (#"{"items":[],"items":[{"service":"a","value":"1"}]}"#, .json),
    (#"{"items":[{"type":1,"login":{"password":"hunter1","password":"hunter2"}}]}"#, .bitwarden),
    (#"{"accounts":[],"accounts":[]}"#, .onePassword), (#"{"auths":{"x":{"auth":"YTpi"},"x":{"auth":"YTpj"}}}"#, .docker),
  ])
  func `JSON with a name that is given twice is refused, as nobody knows which value is meant`(text: String, format: ImportFormat)
  {
    let error = format == .json ? Self.itemsError(text) : Self.error(text, format)
    #expect(error?.kind == .damaged && error?.what == "line 1: an object has a name twice", "\(error?.what ?? "read")")
  }

  @Test func `a linked field of Bitwarden is told, by its name`() throws {
    let text = """
      {"items":[{"type":1,"name":"shop","login":{"username":"ann","password":"pw"},
       "fields":[{"name":"user again","value":null,"type":3,"linkedId":100},{"name":"pin","value":"1","type":1,"linkedId":null}]}]}
      """
    let found = try ImportFixture.items(Data(text.utf8), .bitwarden)
    #expect(found.leftOut == [LeftOut("shop", part: "user again", LeftOut.link)])
    #expect(found.items.count == 2)
  }

  @Test(arguments: [
    "{oauth_token: gho_1, user: u}", "\n    oauth_token: &a gho_1", "\n    oauth_token: *a", "\n    oauth_token: !!str gho_1",
    "\n    oauth_token: |\n        gho_1", "\n    oauth_token: \"gho\\x5f1\"", "\n    oauth_token: 'gho",
    "\n    oauth_token: gho_1 # mine",
  ])
  func `YAML that gh does not write is refused, and no token is read wrong`(rest: String) {
    let error = Self.error("github.com: \(rest)\n", .gh)
    #expect(error?.kind == .damaged && error?.what.contains("gh does not write such YAML") == true, "\(error?.what ?? "read")")
  }

  @Test(arguments: [
    ("h:\n  users:\n    ann:\n      oauth_token: a\n    bob:\n      oauth_token: b\n    ann:\n      oauth_token: c\n", 7),
    ("h:\n  oauth_token: a\n  oauth_token: b\n", 3), ("h:\n  user: a\ng:\n  user: a\n\"h\":\n  user: b\n", 5),
    ("h:\n  users:\n    ann:\n      oauth_token: a\n  users:\n    bob:\n      oauth_token: b\n", 5),
  ])
  func `YAML with a name that is given twice is refused, as nobody knows which value is meant`(text: String, line: Int) {
    let error = #expect(throws: StoreError.self) { try ImportFixture.items(Data(text.utf8), .gh) }
    #expect(
      error?.kind == .damaged && error?.what == "line \(line): a mapping has a name twice", "\(error?.what ?? "read")")
  }

  @Test func `CSV that is not one is refused by its line`() throws {
    let head = "name,url,username,password\n"
    for (text, line, what) in [
      (head + "a,b,c\n", 2, "3 columns, and the first line names 4"), (head + "a,b,c,d\ne,\"f,g,h", 3, "a quote has no end"),
      (head + "a,b,c,\"d\"e\n", 2, "follows the closing quote"),
      (head + String(repeating: ",", count: 300), 2, "more than 256 columns"),
      ("a,b\n", 1, "the columns are not those of Chrome"),
      ("name,url,username,password,Password\na,b,c,d,e\n", 1, "a column of Chrome is there twice"),
      ("", 1, "the columns are not those of Chrome"),
    ] {
      let error = Self.error(text, .chrome)
      #expect(error?.what.hasPrefix("line \(line): ") == true && error?.what.contains(what) == true, "\(error?.what ?? "read")")
    }
    // A quote in an unquoted cell, empty lines, and old line ends are no damage.
    let found = try ImportFixture.items(Data("name,url,username,password\r\r\na,,b,c\"d\r\n\r\n".utf8), .chrome)
    #expect(found.values == ["a/b": "c\"d"])
    let own = try ImportFixture.items(Data("name,url,username,password,pin,pin\na,,b,c,1,2\n".utf8), .chrome)
    #expect(own.values == ["a/b": "c", "a/b#pin": "1", "a/b#pin (2)": "2"])
  }

  @Test func `XML cannot grow: a document type, entities of its own and endless nesting are refused`() throws {
    let laughs = """
      <?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol1 "&lol;&lol;&lol;">]>
      <KeePassFile><Root><Group><Name>&lol1;</Name></Group></Root></KeePassFile>
      """
    let cases = [
      (laughs, "it has a declaration"),
      ("<KeePassFile><Meta>&lol;</Meta></KeePassFile>", "an element or the end of one is missing"),
      ("<KeePassFile><Root><Group><Name>&lol;</Name></Group></Root></KeePassFile>", "an entity"),
      ("<KeePassFile><Root>" + String(repeating: "<Group>", count: 20_000), "nested more than 200 deep"),
      (
        "<KeePassFile><Root><Group><Name>&#x110000;</Name></Group></Root></KeePassFile>", "the number of a character is not valid"
      ),
      ("<KeePassFile><Root></Meta></KeePassFile>", "<Root> is not closed"), ("<other/>", "is not <KeePassFile>"),
      ("<KeePassFile/>x", "something follows"),
      ("<!DOCTYPE x SYSTEM \"file:///etc/passwd\"><KeePassFile/>", "it has a declaration"),
    ]
    for (text, what) in cases {
      let error = Self.error(text, .keepass)
      #expect(error?.kind == .damaged && error?.what.contains(what) == true, "\(what): \(error?.what ?? "read")")
    }
    // Skipped without recursion.
    let deep = String(repeating: "<x>", count: 20_000) + String(repeating: "</x>", count: 20_000)
    #expect(try ImportFixture.items(Data("<KeePassFile><Meta><Y>\(deep)</Y></Meta></KeePassFile>".utf8), .keepass).items.isEmpty)
  }

  @Test func `an entry of KeePass with two texts of one name is refused, as nobody knows which one is meant`() {
    let texts = ["hunter1", "hunter2"].map { "<String><Key>Password</Key><Value>\($0)</Value></String>" }.joined()
    let error = Self.error("<KeePassFile><Root><Group>\n<Entry>\(texts)</Entry></Group></Root></KeePassFile>", .keepass)
    #expect(error?.kind == .damaged && error?.what == "line 2: an entry has two texts of one name", "\(error?.what ?? "read")")
  }

  @Test func `an export that only its own program can read is told so`() throws {
    for text in [
      #"{"encrypted":true,"encKeyValidation_DO_NOT_EDIT":"2.x","folders":[],"items":[]}"#,
      #"{"encrypted":true,"passwordProtected":true,"salt":"x","kdfType":0,"data":"2.x"}"#,
    ] {
      let failure = #expect(throws: Failure.self) { try ImportFixture.items(Data(text.utf8), .bitwarden) }
      #expect(failure?.what.contains("is encrypted") == true)
    }
  }

  @Test func `other text files are refused by their line, and never with what stands there`() throws {
    for (text, format, what) in [
      ("machine a login b password", ImportFormat.netrc, "nothing follows 'password'"),
      ("hello hunter2", .netrc, "a word is unknown; a netrc has"),
      ("machine a login b password x\npassword hunter2", .netrc, "line 2: the machine has a second 'password'"),
      ("machine a login hunter2\nlogin b password x", .netrc, "line 2: the machine has a second 'login'"),
      ("[a]\naws_secret_access_key=hunter2\nAWS_SECRET_ACCESS_KEY=x", .aws, "line 3: the profile has a second"),
      ("machine a password \"x", .netrc, "a quote has no end"), ("[default\nx=1", .aws, "a profile's name has no end"),
      ("x=hunter2", .aws, "precedes the first profile"), ("[a]\nhunter2", .aws, "'=' is missing"),
      ("github.com:\n\toauth_token: hunter2", .gh, "'name: value' is missing"), ("- hunter2", .gh, "'name: value' is missing"),
      (#"{"auths":{"x":{"auth":"hunter2"#, .docker, "in the middle"),
    ] {
      let error = Self.error(text, format)
      #expect(error?.kind == .damaged && error?.what.contains(what) == true, "\(error?.what ?? "read")")
      #expect(error?.what.contains("hunter2") != true)
    }
    let docker = try ImportFixture.items(Data(#"{"auths":{"x":{"auth":"!!!"},"y":{"auth":"YQ=="}}}"#.utf8), .docker)
    #expect(docker.items.isEmpty && docker.leftOut.map(\.entry) == ["x", "y"])
  }

  private static func unpack(_ path: String, _ name: String, limit: Int) throws {
    _ = try ZipArchive(path).content(name, limit: limit)
  }

  @Test func `an archive that is cut, without its file, or that unpacks to more than it may is refused`() throws {
    try ImportFixture.needLibzip()
    let folder = try TestFolder("zip")
    let whole = try ImportFixture.content("1password.1pux")
    let path = folder.path.string + "/cut.1pux"
    for length in stride(from: 0, to: whole.count, by: 61) {
      try whole.prefix(length).write(to: URL(filePath: path))
      let error = #expect(throws: StoreError.self) { try Self.unpack(path, "export.data", limit: 1 << 20) }
      #expect(error?.kind == .damaged, "\(length)")
    }
    try whole.write(to: URL(filePath: path))
    #expect(throws: StoreError.self) { try Self.unpack(path, "nothing", limit: 1 << 20) }
    let error = #expect(throws: StoreError.self) { try Self.unpack(path, "export.data", limit: 100) }
    #expect(error?.kind == .tooLarge(limit: 100))
    var damaged = whole
    damaged[whole.count / 2] ^= 1
    try damaged.write(to: URL(filePath: path))
    #expect(throws: StoreError.self) { try Self.unpack(path, "export.data", limit: 1 << 20) }
  }
}

extension Data {
  fileprivate var trimmedCount: Int { (lastIndex { $0 > 0x20 } ?? -1) + 1 }
}
