import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .defaultRun)
struct DefaultsCommandTests {
  private func filled() throws -> Home {
    let home = try Home()
    try home.transcript("defaults write app volume -int -5")
    try home.transcript("defaults write app scale -float -0.5")
    try home.transcript("defaults write app loud -boolean NO")
    try home.transcript("defaults write app day -date '2026-12-31 18:00:00 +0000'")
    try home.transcript("defaults write app mark -data 00FF")
    try home.transcript("defaults write app shape '{ \"a-b\" = (1, <0f>, \"x y\"); }'")
    return home
  }

  @Test
  func `read prints single values bare and collections space for space as macOS does`() throws {
    let home = try filled()
    try home.transcript("defaults read app scale", out: "-0.5\n")
    try home.transcript("defaults read app loud", out: "0\n")
    try home.transcript("defaults read app day", out: "2026-12-31 18:00:00 +0000\n")
    try home.transcript("defaults read app mark", out: "<00ff>\n")
    let shape = """
      {
          "a-b" =     (
              1,
              <0f>,
              "x y"
          );
      }

      """
    try home.transcript("defaults read app shape", out: shape)
    try home.transcript(
      "defaults read app",
      out: """
        {
            day = "2026-12-31 18:00:00 +0000";
            loud = 0;
            mark = <00ff>;
            scale = "-0.5";
            shape =     {
                "a-b" =         (
                    1,
                    <0f>,
                    "x y"
                );
            };
            volume = "-5";
        }

        """)
    try home.transcript("defaults write list k -array '{a=1;}' '(x)'")
    try home.transcript(
      "defaults read list k", out: "(\n        {\n        a = 1;\n    },\n        (\n        x\n    )\n)\n")
    try home.transcript("defaults read --json", out: try home.coffer("--json defaults read").out)
    #expect(try home.coffer("defaults read --json").out.hasPrefix(#"{"app":{"day":"2026-12-31T18:00:00Z","loud":false,"#))
  }

  @Test(arguments: [
    ("volume", "integer"), ("scale", "float"), ("loud", "boolean"), ("day", "date"), ("mark", "data"), ("shape", "dictionary"),
  ])
  func `read-type names the type as macOS does`(key: String, type: String) throws {
    let home = try filled()
    try home.transcript("defaults read-type app \(key)", out: "Type is \(type)\n")
    try home.transcript(
      "defaults read-type app \(key) --json", out: #"{"domain":"app","key":"\#(key)","type":"\#(type)"}"# + "\n")
    try home.transcript("defaults read-type app nothing", err: "nothing is stored in domain 'app'", exit: 1)
  }

  @Test
  func `a word that begins as a property list is one, in the old notation or in XML, and refused if it is none`() throws {
    let home = try Home()
    try home.transcript("defaults write app dock -array '<dict><key>tile</key><string>a &amp; b</string></dict>'")
    try home.transcript("defaults write app dock -array-add '{ \"tile-type\"=\"spacer-tile\"; }' -int -7")
    try home.transcript("defaults write app bytes '<0f 00>'")
    try home.transcript("defaults write app text -string '{a=1;}'")
    try home.transcript("defaults write app flag '<true/>'")
    try home.transcript("defaults write app plain 'a {b} (c)'")
    for bad in ["{a=1", "{\"a\":1}", "(a b)", "<b>x</b>", "<0f0>", "{a=1;} x"] {
      try home.transcript("defaults write app bad '\(bad)'", err: "begins like a property list but is not one", exit: 64)
    }
    try home.transcript(
      "defaults read app --json",
      out: #"{"bytes":{"base64":"DwA="},"dock":[{"tile":"a & b"},{"tile-type":"spacer-tile"},-7],"flag":true,"#
        + #""plain":"a {b} (c)","text":"{a=1;}"}"# + "\n")
  }

  @Test
  func `what cannot be added to is left alone`() throws {
    let home = try filled()
    let before = try home.content("config/app.plist")
    try home.transcript("defaults write app volume -array-add x", err: "the stored value is not an array", exit: 65)
    try home.transcript("defaults write app volume -dict-add k v", err: "the stored value is not a dictionary", exit: 65)
    try home.transcript("defaults write app new -dict-add k", err: "a value is missing", exit: 64)
    #expect(try home.content("config/app.plist") == before)
  }

  @Test
  func `rename moves a value in one step and replaces what the new key had`() throws {
    let home = try filled()
    try home.transcript("defaults rename app volume loudness")
    try home.transcript("defaults read app loudness", out: "-5\n")
    try home.transcript("defaults read app volume", err: "nothing is stored", exit: 1)
    try home.transcript("defaults rename app scale loudness")
    try home.transcript("defaults read app loudness", out: "-0.5\n")
    try home.transcript("defaults rename app loudness loudness")
    try home.transcript("defaults read app loudness", out: "-0.5\n")
    try home.transcript("defaults rename app nothing other", err: "coffer: 'nothing': nothing is stored", exit: 1)
    try home.transcript("defaults rename app loudness ''", err: "the key name is empty", exit: 64)
    try home.transcript("defaults read app loudness", out: "-0.5\n")
  }

  @Test
  func `delete removes a key, or a domain with all its files`() throws {
    let home = try filled()
    try home.transcript("defaults delete app volume")
    try home.transcript("defaults delete app volume", err: "nothing is stored", exit: 1)
    try home.transcript("defaults delete app")
    #expect(try FileManager.default.contentsOfDirectory(atPath: home.path + "/config") == [])
    try home.transcript("defaults delete app", err: "there is no such domain", exit: 1)
    try home.transcript("defaults domains")
    try home.transcript("defaults domains --json", out: "[]\n")
  }

  @Test
  func `find looks in names, keys and values, nested ones too, whatever the case`() throws {
    let home = try filled()
    try home.transcript("defaults write org.Example.Player title 'Dark Side'")
    try home.transcript(
      "defaults find DARK", out: "Found 1 keys in domain 'org.Example.Player': {\n    title = \"Dark Side\";\n}\n")
    try home.transcript("defaults find player", out: "Found domain 'org.Example.Player'\n")
    try home.transcript(
      "defaults find 'x y' --json",
      out: #"[{"domain":"app","keys":{"shape":{"a-b":["1",{"base64":"Dw=="},"x y"]}},"nameMatches":false}]"# + "\n")
    try home.transcript("defaults find -- -5", out: "Found 1 keys in domain 'app': {\n    volume = \"-5\";\n}\n")
    try home.transcript("defaults find nowhere", err: "no domain, key or value contains the word", exit: 1)
  }

  @Test
  func `what is exported can be imported, in XML and in binary, from a file and from standard input`() throws {
    let home = try filled()
    let list = try home.coffer("defaults export app -")
    #expect(list.status == 0 && list.out.hasPrefix("<?xml version=\"1.0\""))
    try home.transcript("defaults export app \(home.path)/app.xml")
    #expect(try home.content("app.xml") == list.out && home.mode("app.xml") == 0o600)
    let values = try home.coffer("defaults read app --json").out
    try home.transcript("defaults import one \(home.path)/app.xml")
    try home.transcript("defaults import two -", in: list.out)
    let object = try PropertyListSerialization.propertyList(from: list.bytes, options: [], format: nil)
    let binary = try PropertyListSerialization.data(fromPropertyList: object, format: .binary, options: 0)
    try home.transcript("defaults import three \(try home.file("app.bin", binary))")
    for domain in ["one", "two", "three"] { try home.transcript("defaults read \(domain) --json", out: values) }
  }

  @Test
  func `import replaces the keys that the list has and keeps the others, or changes nothing`() throws {
    let home = try filled()
    try home.transcript(
      "defaults import app -", in: "<plist><dict><key>volume</key><string>loud</string><key>new</key><true/></dict></plist>")
    try home.transcript("defaults read app volume", out: "loud\n")
    try home.transcript("defaults read app new", out: "1\n")
    try home.transcript("defaults read app scale", out: "-0.5\n")
    let before = try home.content("config/app.plist")
    try home.transcript("defaults import app -", in: "{ a = 1; }", err: "neither an XML nor a binary", exit: 65)
    try home.transcript("defaults import app -", in: "<plist><array/></plist>", err: "is not a dictionary", exit: 65)
    try home.transcript("defaults import app -", in: "", err: "(standard input)", exit: 65)
    try home.transcript(
      "defaults import app -", in: "<plist><dict><key>ok</key><true/><key></key><true/></dict></plist>",
      err: "the key name is empty", exit: 64)
    try home.transcript("defaults import app \(home.path)/nowhere", err: "the file does not exist", exit: 74)
    #expect(try home.content("config/app.plist") == before)
    try home.transcript("defaults export nobody \(home.path)/x", err: "there is no such domain", exit: 1)
    #expect(!home.exists("x"))
  }

  @Test
  func `export replaces a file in one step, and keeps its mode`() throws {
    let home = try filled()
    let file = try home.file("over.plist", "old", mode: 0o640)
    try home.transcript("defaults export app \(file)")
    #expect(home.mode("over.plist") == 0o640)
    try home.transcript("defaults export app \(home.path)/no/where", err: "where", exit: 74)
  }

  @Test
  func `export through links of one's own keeps them, and replaces the file that they lead to in one step`() throws {
    let home = try filled()
    let list = try home.coffer("defaults export app -").out
    let file = try home.file("there/over.plist", "old", mode: 0o640)
    // Independent of the test runner's umask.
    chmod(home.path + "/there", 0o755)
    let (first, second) = (home.path + "/first", home.path + "/there/second")
    try FileManager.default.createSymbolicLink(atPath: first, withDestinationPath: "there/second")
    try FileManager.default.createSymbolicLink(atPath: second, withDestinationPath: "over.plist")
    let reader = try #require(FileHandle(forReadingAtPath: file))
    try home.transcript("defaults export app \(first)")
    #expect(try home.content("there/over.plist") == list && home.mode("there/over.plist") == 0o640)
    #expect(try reader.readToEnd() == Data("old".utf8))
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: first) == "there/second")
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: second) == "over.plist")
    unlink(file)
    try home.transcript("defaults export app \(first)")
    #expect(try home.content("there/over.plist") == list && home.mode("there/over.plist") == 0o600)
  }

  @Test
  func `export refuses a link that others can have led there, and leaves what it leads to`() throws {
    let home = try filled()
    let file = try home.file("mine", "old")
    let folder = home.path + "/open"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    try FileManager.default.createSymbolicLink(atPath: folder + "/link", withDestinationPath: file)
    try FileManager.default.createSymbolicLink(atPath: home.path + "/link", withDestinationPath: folder + "/link")
    chmod(folder, 0o777)
    for path in [folder + "/link", home.path + "/link"] {
      try home.transcript("defaults export app \(path)", err: "lets other users write to a parent folder", exit: 77)
    }
    chmod(folder, 0o755)
    if geteuid() == 0 {
      lchown(folder + "/link", 65534, 65534)
      for path in [folder + "/link", home.path + "/link"] {
        try home.transcript("defaults export app \(path)", err: "the symbolic link belongs to user 65534", exit: 77)
      }
    }
    #expect(try home.content("mine") == "old")
  }

  @Test
  func `export writes through pipes, devices and descriptors, behind links too`() throws {
    let home = try filled()
    let list = try home.coffer("defaults export app -").out
    try FileManager.default.createSymbolicLink(atPath: home.path + "/out", withDestinationPath: "/dev/stdout")
    try FileManager.default.createSymbolicLink(atPath: home.path + "/null", withDestinationPath: "/dev/null")
    for path in ["/dev/stdout", "/dev/fd/1", home.path + "/out"] { try home.transcript("defaults export app \(path)", out: list) }
    for path in ["/dev/null", home.path + "/null"] { try home.transcript("defaults export app \(path)") }
    let script = "mkfifo pipe && { timeout 60 cat pipe & } && \(Home.coffer) defaults export app pipe && wait"
    let piped = try #require(try home.program(["sh", "-c", "cd \(home.path) && " + script]))
    #expect(piped.status == 0 && piped.out == list, "\(piped.err)")
  }

  @Test
  func `show says where and what, without the value`() throws {
    let home = try filled()
    let place = home.path + "/config/app.plist"
    try home.transcript("show volume --domain app", out: "volume: domain integer (\(place))\n")
    try home.transcript(
      "show scale --domain app --json",
      out: #"{"domain":"app","key":"scale","sources":[{"layer":"domain","place":"\#(place)","type":"float"}]}"# + "\n")
    try home.transcript("show nothing --domain app", err: "nothing is stored in domain 'app'", exit: 1)
  }

  @Test(arguments: [
    "read -g", "read NSGlobalDomain", "write -g AppleLocale de", "write NSGlobalDomain k v", "delete -globalDomain k",
    "find --json -g", "-currentHost read app", "read -app Player", "read --home /tmp -g", "import .GlobalPreferences -",
  ])
  func `the global domain, hosts and bundles of macOS are refused, not made up`(line: String) throws {
    let home = try Home()
    let answer = try home.coffer("defaults \(line)")
    #expect(answer.status == 64 && answer.out.isEmpty)
    #expect(
      answer.err.contains("there is no global domain") || answer.err.contains("preferences belong to the user")
        || answer.err.contains("no bundles"))
    #expect(!home.exists("config"))
  }

  @Test
  func `words of macOS are keys and values like any other`() throws {
    let home = try Home()
    try home.transcript("defaults write app NSGlobalDomain -string -g")
    try home.transcript("defaults read app NSGlobalDomain", out: "-g\n")
  }

  @Test(
    arguments: [
      ("write app k -boool YES", 64), ("write app k -int x", 64), ("write ../evil k v", 64), ("write app ''  v", 64),
      ("write app k -date tomorrow", 64), ("write app k a b", 64), ("write app k", 64), ("write app k -string 'a\u{1}b'", 2),
      ("delete app", 1), ("delete app k", 1), ("rename app a b", 1), ("import app /nowhere", 74), ("import ../evil -", 65),
      ("export app /nowhere/x", 1), ("read ../evil", 64), ("read-type app k", 1), ("explain app k", 64), ("find ''", 64),
      ("read app k --bogus", 64), ("frobnicate", 64),
    ] as [(String, Int32)])
  func `a command that fails has changed nothing and made nothing`(line: String, status: Int32) throws {
    let home = try Home()
    for suffix in ["", " --json"] {
      let answer = try home.coffer("defaults \(line)\(suffix)")
      #expect(answer.status == status, "\(answer.err)")
      #expect(suffix.isEmpty ? answer.err.hasPrefix("coffer: ") : answer.err.hasPrefix("{\"error\":"), "\(answer.err)")
      #expect(answer.out.isEmpty || answer.out == "[]\n")
    }
    #expect(!home.exists("config") && !home.exists("data") && !home.exists("evil.plist"))
  }

  @Test
  func `a value over the limit is refused and makes nothing`() throws {
    let home = try Home()
    let big = Data(repeating: 65, count: 1_100_000)
    let answer = try home.coffer("set big --plain", in: big)
    #expect(answer.status == 64 && answer.err.contains("over the limit of 1048576"))
    let list = "<plist><dict><key>big</key><string>\(String(decoding: big, as: UTF8.self))</string></dict></plist>"
    try home.transcript("defaults import app -", in: list, err: "over the limit of 1048576", exit: 64)
    #expect(!home.exists("config"))
  }
}
