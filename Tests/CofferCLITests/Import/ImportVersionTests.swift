import Coffer
import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferFormats

/// What an entry had before, and the files that are attached to it.
@Suite(.tags(.process), .defaultRun) struct ImportVersionTests {
  private func bitwarden(_ password: String, former: [Int]) -> Data {
    let history = former.map { number in
      #"{"password":"former \#(number)","lastUsedDate":"2025-01-\#(number < 10 ? "0" : "")\#(number)T00:00:00Z"}"#
    }
    let login = #"{"username":"ann","password":"\#(password)"}"#
    return Data(
      #"""
      {"encrypted":false,"items":[
       {"type":1,"name":"shop","login":\#(login),"passwordHistory":[\#(history.joined(separator: ","))]}]}
      """#.utf8)
  }

  @Test func `former passwords become previous versions, the newest ten, and an item that is replaced keeps its own`() throws {
    let home = try Home.withVault()
    let answer = try home.coffer("import -", in: bitwarden("now", former: Array((1...12).reversed())))
    #expect(answer.status == 0 && answer.out.contains("shop"), "\(answer.err)")
    #expect(answer.err.contains("left out: shop (previous passwords beyond those that an item keeps: 2)"), "\(answer.err)")
    for revision in 1...10 { try home.transcript("vault get shop --revision \(revision)", out: "former \(revision + 2)") }
    try home.transcript("vault get shop", out: "now")
    #expect(try home.coffer("import -q --on-duplicate replace -", in: bitwarden("later", former: [20])).status == 0)
    try home.transcript("vault get shop", out: "later")
    try home.transcript("vault get shop --revision 11", out: "now")
    try home.transcript("vault get shop --revision 10", out: "former 12")
    #expect(try home.coffer("vault revert shop 10").status == 0)
    try home.transcript("vault get shop", out: "former 12")
    #expect(try home.coffer("vault show shop --json").out.contains(#""label":"shop""#))
    #expect(try home.coffer("vault verify").status == 0)
  }

  @Test func `an item that is replaced gets the former passwords that fit beside its own versions, each once`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set shop ann -q", in: "mine")
    for (value, former) in [("now", [1, 2]), ("now", [1, 2]), ("later", [1, 2, 3])] {
      let answer = try home.coffer("import -q --on-duplicate replace -", in: bitwarden(value, former: former))
      #expect(answer.status == 0, "\(answer.err)")
    }
    for (index, value) in ["mine", "former 1", "former 2", "now", "former 3", "later"].enumerated() {
      try home.transcript("vault get shop --revision \(index + 1)", out: value)
    }
  }

  @Test func `without a history no former password is stored`() throws {
    let home = try Home.withVault()
    try home.transcript("defaults write coffer.settings history.keep 0")
    let answer = try home.coffer("import -", in: bitwarden("now", former: [1, 2]))
    #expect(answer.err.contains("previous passwords beyond those that an item keeps: 2)"), "\(answer.err)")
    try home.transcript("vault get shop --revision 1", out: "now")
  }

  private static let packed = "H4sIAAAAAAACA8tIzcnJ11HIQKIAn6HKCRMAAAA="

  /// An XML of KeePass with files by their numbers, and an entry that has the one of `value`.
  private func document(_ value: String, files: String = "", history: String = "") -> String {
    let password = "<String><Key>Title</Key><Value>a</Value></String><String><Key>Password</Key><Value>pw</Value></String>"
    return """
      <KeePassFile><Meta><Binaries>\(files)</Binaries></Meta><Root><Group><Entry>\(password)
      <Binary><Key>file</Key>\(value)</Binary><History>\(history)</History></Entry></Group></Root></KeePassFile>
      """
  }

  private func keepass(_ value: String, files: String = "", history: String = "") throws -> EntryItems {
    try ImportFixture.items(Data(document(value, files: files, history: history).utf8), .keepass)
  }

  @Test func `without zlib a packed file is refused with the name of the package, and nothing is imported`() throws {
    let home = try Home.withVault()
    _ = try home.file("lib/libz.so.1", "no library")
    let file = try home.file("keepass.xml", document(#"<Value Compressed="True">\#(Self.packed)</Value>"#))
    try home.transcript("import \(file)", with: ["LD_LIBRARY_PATH": home.path + "/lib"], err: "install zlib1g", exit: 1)
    try home.transcript("list --json", out: "[]\n")
  }

  @Test func `a file that is attached in KeePass becomes a field, packed or not, beside the entry or in it`() throws {
    let packed = #"<Binary ID="0" Compressed="True">\#(Self.packed)</Binary>"#
    let plain = #"<Binary ID="1">cGxhaW4=</Binary>"#
    for (value, content) in [
      (#"<Value Ref="0"/>"#, "hello, hello, hello"), (#"<Value Ref="1"/>"#, "plain"), ("<Value>cGxhaW4=</Value>", "plain"),
      (#"<Value Compressed="True">\#(Self.packed)</Value>"#, "hello, hello, hello"),
    ] {
      let found = try keepass(value, files: packed + plain)
      #expect(found.values == ["a/": "pw", "a/#file": content] && found.leftOut.isEmpty, "\(value)")
      #expect(found.items.last?.form.metadata.contentType == "application/octet-stream")
    }
  }

  @Test func `an attached file that is too large, damaged or missing is left out and reported, and its entry is imported`()
    throws
  {
    let large = Data(count: (2 << 20) + 1).base64EncodedString()
    for (value, reason) in [
      (#"<Value Ref="7"/>"#, LeftOut.attachment), ("<Value>no base64</Value>", LeftOut.attachment),
      ("<Value>\(large)</Value>", LeftOut.tooLarge),
      // They claim to unpack to 3 MiB, and to 5 bytes that are not there.
      (#"<Value Compressed="True">H4sIAAAAAAACAwMAAAAAAAAAMAA=</Value>"#, LeftOut.tooLarge),
      (#"<Value Compressed="True">H4sIAAAAAAACAwMAAAAAAAUAAAA=</Value>"#, LeftOut.attachment),
    ] {
      let found = try keepass(value)
      #expect(found.values == ["a/": "pw"] && found.leftOut == [LeftOut("a", part: "file", reason)], "\(value.prefix(60))")
    }
  }

  @Test func `gzip with any bit changed is refused`() throws {
    let whole = try #require(Data(base64Encoded: Self.packed))
    // Of the header, the time and the system are of no effect.
    for place in whole.indices where !(4..<10).contains(place) {
      var bytes = whole
      bytes[place] ^= 1
      let value = #"<Value Compressed="True">\#(bytes.base64EncodedString())</Value>"#
      #expect(try keepass(value).values == ["a/": "pw"], "\(place)")
    }
  }

  @Test func `an entry of KeePass gets its former passwords by their dates, each once`() throws {
    func version(_ password: String, _ day: Int?) -> String {
      let times = day.map { "<Times><LastModificationTime>2025-01-0\($0)T00:00:00Z</LastModificationTime></Times>" } ?? ""
      return "<Entry>\(times)<String><Key>Password</Key><Value>\(password)</Value></String></Entry>"
    }
    let versions: [(String, Int?)] = [("third", 3), ("first", 1), ("second", 2), ("second", 2), ("undated", nil), ("pw", 4)]
    let history = versions.map { version($0.0, $0.1) }.joined()
    let found = try keepass("<Value>cGxhaW4=</Value>", history: history)
    #expect(found.former == ["undated", "first", "second", "third"] && found.leftOut.isEmpty)
  }
}
