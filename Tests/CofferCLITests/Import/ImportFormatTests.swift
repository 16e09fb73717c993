import Coffer
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferFormats
@testable import CofferTerminal

@Suite struct ImportFormatTests {
  @Test func `what a file is of is told by its content, and nothing is guessed`() throws {
    func recognized(_ bytes: Data) throws -> ImportFormat? {
      try ImportFormat.recognized(in: ImportFixture.secret(bytes), place: "file")
    }
    for (file, format) in ImportFixture.texts {
      #expect(try recognized(ImportFixture.content(file)) == format, "\(file)")
    }
    #expect(try recognized(Data(#"{"coffer":1,"items":[]}"#.utf8)) == .json)
    #expect(try recognized(Data(#"[{"service":"a","value":"b"}]"#.utf8)) == .json)
    for text in ["", "A=1\n", "hello", "<plist/>", "[section]\nkey=1", "name,password\n", "[1,2]"] {
      #expect(try recognized(Data(text.utf8)) == nil, "\(text)")
    }
  }

  @Test func `Bitwarden's JSON: each type has its secret as the value, and what is left out is told`() throws {
    let found = try ImportFixture.items(ImportFixture.content("bitwarden.json"), .bitwarden)
    #expect(
      found.values == [
        "github.com/ann": "=cmd()|hunter2", "github.com/ann#notes": "line 1\nline \"2\"", "github.com/ann#pin": "4711",
        "github.com/ann#otpauth": "otpauth://totp/GitHub?secret=JBSWY3DPEHPK3PXP", "github.com/ann (2)": "zwei",
        "WiFi/": "ssid home, key pineapple", "Visa/": "4111111111111111", "Visa/#cvc": "123", "Me/": "",
        "Me/#ssn": "078-05-1120", "laptop key/": "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n", "with file/": "pw",
        "bookmark/ann": "",
      ])
    #expect(
      found.said("github.com/ann")?.attributes == [
        "url": "https://GitHub.com/login?x=1", "url 2": "https://gist.github.com", "folder": "Work/Code", "tag:favorite": "",
        "plan": "free", "beta": "true",
      ])
    #expect(found.said("github.com/ann")?.label == "GitHub")
    #expect(found.items[0].created == Moment.parse("2025-03-04T05:06:07Z"))
    #expect(
      found.reasons == [
        "GitHub (passkeys)", "old shop (in the trash)", "from the future (of a type unknown to this version)",
        "with file: scan.pdf (\(LeftOut.attachment))",
      ])
    #expect(found.former == ["former-1"])
    #expect(found.renamed == ["'GitHub again' becomes 'github.com/ann (2)': another entry has the name 'github.com/ann'"])
  }

  @Test func `Bitwarden's CSV has several addresses and fields in one cell`() throws {
    let found = try ImportFixture.items(ImportFixture.content("bitwarden.csv"), .bitwarden)
    #expect(
      found.values == [
        "forum.example/bob": "p,w\"d", "forum.example/bob#notes": "a note, with \"quotes\"\nand lines",
        "forum.example/bob#PIN": "4711", "forum.example/bob#hint": "first: pet",
        "forum.example/bob#otpauth": "otpauth://totp/Forum:bob?secret=JBSWY3DPEHPK3PXP", "Recipe/": "salt and pepper",
      ])
    #expect(
      found.said("forum.example/bob")?.attributes == [
        "url": "https://forum.example", "url 2": "https://m.forum.example/a,b", "folder": "Social", "tag:favorite": "",
      ])
  }

  @Test func `of Bitwarden's CSV no line of the fields is lost, and of its JSON no collection`() throws {
    let head = "name,login_uri,login_username,login_password,fields\n"
    for (cell, fields) in [
      ("alone\nPIN: 1", ["a/#fields": "alone", "a/#PIN": "1"]), ("one\ntwo", ["a/#fields": "one\ntwo"]),
      ("\nPIN: 1\n2", ["a/#PIN": "1\n2"]),
    ] {
      let found = try ImportFixture.items(Data("\(head)a,,,pw,\"\(cell)\"\n".utf8), .bitwarden)
      #expect(found.values == fields.merging(["a/": "pw"]) { first, _ in first }, "\(cell)")
    }
    let text = #"""
      {"collections":[{"id":"1","name":"Ops"},{"id":"2","name":"Web"},{"id":"3","name":"Old"}],
       "items":[{"type":1,"name":"a","folderId":null,"collectionIds":["2","1","9"],"login":{"password":"pw"}}]}
      """#
    let found = try ImportFixture.items(Data(text.utf8), .bitwarden)
    #expect(found.said("a/")?.attributes == ["folder": "Web", "folder (2)": "Ops"])
  }

  @Test func `1Password's archive: fields by kind, tags and vault, and its files`() throws {
    try ImportFixture.needLibzip()
    let archive = try ZipArchive(ImportFixture.path("1password.1pux"))
    let data = try archive.content("export.data", limit: 1 << 20)
    let entries = try OnePasswordJSON.read(data, place: "file") { name, limit in
      try archive.holds(name) ? SecretForm(archive.content(name, limit: limit)) : nil
    }
    let found = try EntryItems(entries, keeping: 10)
    #expect(
      found.values == [
        "www.example.com/ann": "s3cret", "www.example.com/ann#PIN": "12345", "www.example.com/ann#notes": "remember",
        "www.example.com/ann#otpauth": "otpauth://totp/x?secret=JBSWY3DPEHPK3PXP", "Visa/": "4111111111111111",
        "Visa/#verification number": "321", "Note/": "just a note", "Door/": "lonely",
        "Key/": "-----BEGIN PRIVATE KEY-----\nBBBB\n", "Will/": "", "Will/#will.pdf": "%PDF",
      ])
    #expect(found.former == ["former"])
    #expect(
      found.said("www.example.com/ann")?.attributes == [
        "url": "https://www.example.com/", "url 2": "https://b.example", "folder": "Personal", "tag:home": "", "tag:x/y": "",
        "tag:favorite": "", "branch": "extra", "mail": "ann@example.com", "birthday": "631195260",
      ])
    #expect(found.said("Visa/")?.attributes == ["folder": "Personal", "tag:archived": "", "expiry date": "203104"])
    #expect(
      found.reasons == [
        "Example: scan.png (\(LeftOut.attachment))", "Example: hologram (of a type unknown to this version)",
      ])
  }

  @Test func `CSV of browsers, 1Password and KeePass: a formula stays text, and no name is given twice`() throws {
    let chrome = try ImportFixture.items(ImportFixture.content("chrome.csv"), .chrome)
    #expect(
      chrome.values == [
        "github.com/ann": "=1+1", "github.com/ann (2)": "second", "github.com/ann (2)#notes": "why",
        "http://192.168.1.1:8080/": "admin", "android://com.example.app/ann": "droid",
      ])
    #expect(chrome.reasons == ["empty (without a secret)"] && chrome.renamed.count == 1)
    let firefox = try ImportFixture.items(ImportFixture.content("firefox.csv"), .firefox)
    #expect(firefox.values == ["mail.example/ann": "say \"friend\"", "intra.example:8443/bob": "basic"])
    #expect(firefox.said("intra.example:8443/bob")?.attributes["realm"] == "Staff only")
    #expect(firefox.items[0].created == Date(timeIntervalSince1970: 1_700_000_000))
    let one = try ImportFixture.items(ImportFixture.content("1password.csv"), .onePassword)
    #expect(
      one.values == [
        "bank.example/ann": "geld", "bank.example/ann#otpauth": "otpauth://totp/Bank?secret=JBSWY3DPEHPK3PXP",
        "bank.example/ann#notes": "call first", "old.example/ann": "alt",
      ])
    #expect(Set(one.said("bank.example/ann")?.attributes.keys ?? [:].keys) == ["url", "tag:favorite", "tag:money", "tag:home"])
    #expect(one.said("old.example/ann")?.attributes["tag:archived"] == "")
    let keePass = try ImportFixture.items(ImportFixture.content("keepass1.csv"), .keepass)
    #expect(keePass.values == ["kp.example/ann": "a\"b\\c", "kp.example/ann#notes": "one\ntwo"])
  }

  @Test func `KeePass's XML: protected texts are fields, the trash stays behind, and a past date does not lock a value away`()
    throws
  {
    let found = try ImportFixture.items(ImportFixture.content("keepass.xml"), .keepass)
    #expect(
      found.values == [
        "github.com/ann": "hunter-2 <&> \"", "github.com/ann#notes": "a note", "github.com/ann#PIN": "4711",
        "github.com/ann#otpauth": "otpauth://totp/GitHub?secret=JBSWY3DPEHPK3PXP&digits=8&period=60", "Deep/": "below",
      ])
    let said = found.said("github.com/ann")
    #expect(
      said?.attributes == [
        "url": "https://github.com/login", "tag:dev": "", "tag:git": "", "color": "blue", "expired": "2020-01-01T00:00:00Z",
      ])
    #expect(said?.expires == nil && found.said("Deep/")?.attributes == ["folder": "Bank/Sub"])
    #expect(found.said("Deep/")?.expires == Moment.parse("2999-01-01T00:00:00Z"))
    #expect(found.reasons == ["GitHub: key.pem (\(LeftOut.attachment))", "Thrown (in the trash)"])
    #expect(found.former == ["former"])
  }

  @Test func `netrc, git, docker, aws and gh: items are named as Coffer's own helpers look for them`() throws {
    #expect(
      try ImportFixture.items(ImportFixture.content("netrc"), .netrc).values == [
        "ftp.example/ann": "two words\"!", "mail.example/bob": "hunter2", "mail.example/bob#account": "billing",
        "default/anonymous": "guest",
      ])
    #expect(
      try ImportFixture.items(ImportFixture.content("git-credentials"), .gitCredentials).values == [
        "https://github.com/ann": "p@ss/word", "https://git.example:8443/team/repo.git/bob": "tok",
      ])
    let docker = try ImportFixture.items(ImportFixture.content("docker-config.json"), .docker)
    #expect(docker.values == ["docker:https://index.docker.io/v1//ann": "dckr-pw:1", "docker:ghcr.io/<token>": "idtok-1"])
    #expect(docker.reasons == ["helper.example (kept by a credential helper, not in this file)"])
    #expect(docker.said("docker:ghcr.io/<token>")?.attributes["username"] == "00000000-0000-0000-0000-000000000000")
    let aws = try ImportFixture.items(ImportFixture.content("aws-credentials"), .aws)
    #expect(
      aws.values == [
        "aws/default": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "aws/session": "sec=ret",
        "aws/session#aws_session_token": "tok",
      ])
    #expect(aws.reasons == ["AWS key of role (without a secret)"])
    #expect(aws.said("aws/default")?.attributes == ["aws_access_key_id": "AKIAIOSFODNN7EXAMPLE"])
    let gh = try ImportFixture.items(ImportFixture.content("gh-hosts.yml"), .gh)
    #expect(gh.values == ["github.com/ann": "gho_one", "github.com/bob": "gho_two", "old.example/dora": "gho_three"])
    #expect(gh.reasons == ["ghe.example (its token is in the system's keyring, not in this file)"])
  }

  @Test func `of a host of gh with many accounts only the active one's token is cut out twice`() throws {
    let accounts = (0..<200).map { "    user\($0):\n      oauth_token: gho_\($0)\n" }.joined()
    let text = "host:\n  users:\n\(accounts)  user: user7\n  oauth_token: gho_7\n"
    let found = try GitHubHosts.read(Home.secret(text), place: "file")
    #expect(found.entries.map(\.user) == (0..<200).map { "user\($0)" })
    #expect(found.entries.map(\.cuts.count) == (0..<200).map { $0 == 7 ? 2 : 1 })
  }

  @Test func `of a host of gh each account whose token is in the keyring is told`() throws {
    let text = "h:\n  users:\n    ann:\n      oauth_token: gho_a\n    bob:\n    eve: {}\n  user: bob\n"
    let found = try ImportFixture.items(Data(text.utf8), .gh)
    #expect(found.values == ["h/ann": "gho_a"])
    #expect(found.leftOut == [LeftOut("h", part: "bob", LeftOut.inKeyring), LeftOut("h", part: "eve", LeftOut.inKeyring)])
  }

  @Test func `an entry of pass is split where people wrote its parts, and stays whole where they did not`() throws {
    func read(_ text: String, _ style: PassBody.Style) throws -> EntryItems {
      var entry = ImportedEntry()
      entry.service = "web"
      try PassBody.read(Home.secret(text), style: style, into: &entry)
      var found = ImportedEntries()
      found.add(entry)
      return try EntryItems(found)
    }
    let text = "pw\nuser: ann\nurl: https://web.example\npin: 12\nsome words\n\nmore\notpauth://totp/x?secret=JBSWY3DPEHPK3PXP\n"
    for style in [PassBody.Style.pass, .gopass] {
      let found = try read(text, style)
      #expect(
        found.values == [
          "web/": "pw", "web/#pin": "12", "web/#notes": "some words\n\nmore",
          "web/#otpauth": "otpauth://totp/x?secret=JBSWY3DPEHPK3PXP",
        ])
      #expect(found.said("web/")?.attributes == ["user": "ann", "url": "https://web.example"])
    }
    let key = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nuser: x\n-----END RSA PRIVATE KEY-----\n"
    for text in [key, "pw\nin case of fire: run\nsecond: line\n", "one line", "pw\nhttps://x.example\n"] {
      #expect(try read(text, .pass).values == ["web/": text])
    }
    #expect(try read("one line\n", .pass).values == ["web/": "one line"])
    #expect(try read(key, .gopass).values.count == 1)
    #expect(
      try read("pw\nuser: x\nTAN list:\n1 abc\n", .pass).values == ["web/": "pw", "web/#notes": "TAN list:\n1 abc"])
    for text in ["otpauth://totp/x?secret=JBSWY3DPEHPK3PXP", "otpauth://totp/x?secret=JBSWY3DPEHPK3PXP\nuser: x\n"] {
      #expect(try read(text, .pass).values["web/#otpauth"] == "otpauth://totp/x?secret=JBSWY3DPEHPK3PXP")
    }
    let yaml = "pw\n---\nname: x\nlist:\n  - a\n  - b\nport: 80\n"
    #expect(try read(yaml, .gopass).values == ["web/": "pw", "web/#name": "x", "web/#list": "  - a\n  - b", "web/#port": "80"])
    #expect(
      try read("GOPASS-SECRET-1.0\nPassword: pw\nColor: red\n\nbody\n", .gopass).values == [
        "web/": "pw", "web/#Color": "red", "web/#notes": "body",
      ])
  }

  @Test func `names and attributes that an item cannot hold are made sound, and none is lost`() throws {
    var found = ImportedEntries()
    for title in ["two\nlines", "", String(repeating: "é", count: 2000), "two lines"] {
      var entry = ImportedEntry()
      entry.title = title
      entry.value = SecretForm(try Home.secret("x"))
      found.add(entry)
    }
    for number in 0..<70 {
      found.entries[0].say("v\(number)", as: "a\(number)")
      found.entries[1].add(SecretForm(try Home.secret("s")), as: "field")
      found.entries[1].say("", as: "nothing \(number)")
    }
    found.entries[2].say(String(repeating: "x", count: 5000), as: "long")
    let items = try EntryItems(found)
    #expect(items.renamed.count == 4)
    #expect(items.values["two lines/"] == "x" && items.values["two lines/(2)"] == "x" && items.values["untitled/"] == "x")
    #expect(items.said("two lines/")?.attributes.count == 64)
    #expect(items.values["two lines/#a69"] == "v69" && items.values["untitled/#field (64)"] == "s")
    #expect(items.leftOut.count == 6 && items.leftOut.allSatisfy { $0.reason == LeftOut.tooMany })
    #expect(items.values.contains { $0.key.hasSuffix("/#long") && $0.value.utf8.count == 5000 })
    #expect(items.items.allSatisfy { $0.name.service.utf8.count <= 1024 })
  }

  @Test func `a name without anything that can be seen is replaced, and the other entries come in`() throws {
    var found = ImportedEntries()
    for (title, service, user) in [
      ("  ", nil, "ann"), ("\u{1}\n", nil, "\t "), ("Shop", "\u{7F}", "bob"), ("fine", "fine", "eve"),
    ] as [(String, String?, String)] {
      var entry = ImportedEntry()
      (entry.title, entry.service, entry.user) = (title, service, user)
      entry.value = SecretForm(try Home.secret("x"))
      entry.say("v", as: "\u{1}")
      entry.say("w", as: "  ")
      entry.add(SecretForm(try Home.secret("s")), as: "\u{2}")
      entry.add(SecretForm(try Home.secret("t")), as: " ")
      found.add(entry)
    }
    let items = try EntryItems(found)
    let names = ["untitled/ann", "untitled/", "Shop/bob", "fine/eve"]
    #expect(items.items.filter { $0.name.field.isEmpty }.map { "\($0.name.service)/\($0.name.account)" } == names)
    for name in names {
      #expect(items.said(name)?.attributes == ["attribute": "v", "attribute (2)": "w"])
      #expect(items.values["\(name)#field"] == "s" && items.values["\(name)#field (2)"] == "t")
    }
    #expect(items.renamed.count == 3, "\(items.renamed)")
  }

  @Test func `a name of Coffer's own becomes another one and is told, so that no item turns into a login or ends with a session`()
    throws
  {
    let text = #"""
      {"items":[{"type":1,"name":"shop","login":{"username":"ann","password":"pw"},"fields":[
       {"name":"coffer.ends-with-session","value":"true","type":0},{"name":"coffer.auth\n","value":"token","type":2},
       {"name":"coffer.auth.refresh","value":"r","type":1},{"name":"coffer","value":"mine","type":0}]}]}
      """#
    let found = try ImportFixture.items(Data(text.utf8), .bitwarden)
    #expect(
      found.said("shop/ann")?.attributes == [
        "imported.coffer.ends-with-session": "true", "imported.coffer.auth ": "token", "coffer": "mine",
      ])
    #expect(found.values == ["shop/ann": "pw", "shop/ann#imported.coffer.auth.refresh": "r"])
    #expect(found.renamed.count == 3 && found.renamed.allSatisfy { $0.hasSuffix("are reserved") }, "\(found.renamed)")
  }

  @Test func `docker's credentials are found in whatever case their names stand, as docker finds them`() throws {
    let found = try ImportFixture.items(Data(#"{"Auths":{"a.example":{"AUTH":"YWRhOmh1c2g="}}}"#.utf8), .docker)
    #expect(found.values == ["docker:a.example/ada": "hush"])
  }
}
