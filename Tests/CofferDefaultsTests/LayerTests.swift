import CofferTestSupport
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferDefaults

@Suite
struct LayerTests {
  @Test(arguments: ["", ".", "..", "../evil", "a/b", "a\nb", "a\u{0}b", "\u{7f}", String(repeating: "x", count: 201)])
  func `a domain that is no plain file name is refused`(_ name: String) throws {
    let folder = try TemporaryFolder()
    #expect(kind { _ = try DefaultsStore.open(domain: name, in: folder.path) } == .invalidName)
    #expect(kind { _ = try DefaultsStore.open(domain: "d", in: folder.path, suites: [name]) } == .invalidName)
    #expect(try folder.names().isEmpty)
  }

  @Test func `the folder is XDG_CONFIG_HOME where that is absolute, else .config in the home folder`() throws {
    #expect(try DefaultsDomain.configurationFolder { ["XDG_CONFIG_HOME": "/x", "HOME": "/h"][$0] } == "/x")
    #expect(try DefaultsDomain.configurationFolder { ["XDG_CONFIG_HOME": "", "HOME": "/h"][$0] } == "/h/.config")
    #expect(try DefaultsDomain.configurationFolder { ["XDG_CONFIG_HOME": "rel", "HOME": "/h"][$0] } == "/h/.config")
  }

  @Test func `domains are listed, hidden and foreign files are not`() throws {
    let folder = try TemporaryFolder()
    for name in ["b", "a", "com.example.app"] { try folder.open(domain: name).save(.integer(1), for: "k") }
    for name in ["b", "a", "com.example.app"] { try folder.open(domain: name).synchronize() }
    try folder.write("", to: "notes.txt")
    #expect(try DefaultsDomain.list(in: folder.path).map(\.name) == ["a", "b", "com.example.app"])
    #expect(try DefaultsDomain.list(in: folder.file("nowhere")).isEmpty)
  }

  @Test func `a domain whose values are in the journal alone is listed, one that was opened and never written is not`() throws {
    let folder = try TemporaryFolder()
    try folder.open(domain: "only.journal").save(.integer(1), for: "k")
    let opened = try folder.open(domain: "opened")
    #expect(try opened.load("k") == nil)
    let before = try folder.names()
    #expect(before == [".only.journal.plist.coffer", ".opened.plist.coffer"])
    #expect(try DefaultsDomain.list(in: folder.path).map(\.name) == ["only.journal"])
    try folder.write("rubbish", to: ".spoilt.plist.coffer")
    try folder.open(domain: "only.journal").close()
    #expect(try DefaultsDomain.list(in: folder.path).map(\.name) == ["only.journal", "spoilt"], "what is cut short held more")
    try folder.write(String(repeating: "rubbish!", count: 10_000), to: ".spoilt.plist.coffer")
    #expect(try DefaultsDomain.list(in: folder.path).map(\.name) == ["only.journal", "spoilt"], "it may hold values")
  }

  @Test func `what stands outside of the files is named`() throws {
    let folder = try TemporaryFolder()
    let environment = EnvironmentLayer(prefix: "APP_", environment: ["APP_UI_B": "x", "APP_UI_A": "y"])
    let store = try folder.open(layers: DefaultsLayers(["-ui.a", "1"], environment, ["c": .integer(1)], "ui."))
    try store.save(.integer(1), for: "d")
    #expect(store.unstoredSource(of: "a") == "the command line")
    #expect(store.unstoredSource(of: "b") == "the environment variable APP_UI_B")
    #expect(store.unstoredSource(of: "c") == "a registered value")
    #expect(store.unstoredSource(of: "d") == nil)
    #expect(
      try store.explain("a").description.split(separator: "\n") == [
        "a: argument text (command line)", "  over environment text (APP_UI_A)",
      ])
  }

  @Test func `a removed domain leaves no file, and running stores find it empty and usable`() throws {
    let folder = try TemporaryFolder()
    let running = try folder.open(isShared: false)
    try running.save(.integer(1), for: "folded")
    try running.synchronize()
    try running.save(.integer(2), for: "journalled")
    try DefaultsDomain("d", in: folder.path).remove()
    #expect(try folder.names().isEmpty)
    #expect(try running.names().isEmpty)
    try running.save(.integer(3), for: "new")
    #expect(try folder.open(isShared: false).names() == ["new"])
    try #require(try folder.names() == [".d.plist.coffer"])
    // As left by a process that dies during a removal.
    let journal = try FileHandle(forUpdating: URL(filePath: folder.file(".d.plist.coffer").string))
    try journal.seek(toOffset: UInt64(JournalLayout.Field.use.rawValue))
    try journal.write(contentsOf: withUnsafeBytes(of: JournalUse.removed.field.littleEndian) { Data($0) })
    try journal.close()
    try folder.open(isShared: false).save(.integer(4), for: "newer")
    #expect(try folder.open(isShared: false).load("newer") == .integer(4))
    try DefaultsDomain("never-there", in: folder.path).remove()
    #expect(try !folder.names().contains { $0.contains("never-there") })
  }

  @Test func `a domain that was removed while its last write waits to be folded has no file then either`() throws {
    let folder = try TemporaryFolder()
    let running = try folder.open(foldsWhenIdle: true)
    try running.save(.integer(1), for: "a")
    try DefaultsDomain("d", in: folder.path).remove()
    Thread.sleep(forTimeInterval: 1)  // No event: nothing is written.
    #expect(try folder.names() == [])
    #expect(try running.names() == [])
  }

  @Test func `a domain that was removed gets no file from programs that synchronize and close it, until somebody writes it`()
    throws
  {
    let folder = try TemporaryFolder()
    let (running, other) = (try folder.open(isShared: false), try folder.open(isShared: false))
    try running.save(.integer(1), for: "a")
    try DefaultsDomain("d", in: folder.path).remove()
    try running.synchronize()
    try running.scrub()
    try other.close()
    #expect(try folder.names() == [])
    let writer = try folder.open(isShared: false)
    try writer.save(.integer(2), for: "b")
    #expect(try folder.names() == [".d.plist.coffer"])
    try running.synchronize()
    #expect(folder.exists("d.plist"))
    #expect(try running.contents() == ["b": .integer(2)])
  }

  @Test func `launch arguments`() {
    let cases: [([String], [String: String])] = [
      (["-theme", "dark"], ["theme": "dark"]), (["-theme=dark"], ["theme": "dark"]), (["-n", "-5"], ["n": "-5"]),
      (["-n=-5"], ["n": "-5"]), (["-x", "-0.5", "-y", "-.5"], ["x": "-0.5", "y": "-.5"]), (["-a", "-b", "1"], ["b": "1"]),
      (["--theme", "dark"], [:]), (["-a", "1", "--", "-b", "2"], ["a": "1"]), (["-5", "x"], [:]), (["-a"], [:]),
      (["-a", "1", "-a", "2"], ["a": "2"]), (["-k="], ["k": ""]), (["file", "-k", "v=w"], ["k": "v=w"]), (["-", "x"], [:]),
      (["-=x"], [:]), (["-k", "-"], ["k": "-"]),
    ]
    for (arguments, expected) in cases { #expect(LaunchArguments(arguments).texts == expected, "\(arguments)") }
  }

  @Test func `the strongest layer wins, explain tells which, and writes go beneath overrides`() throws {
    let folder = try TemporaryFolder()
    try folder.open(domain: "s1").save(.string("suite 1"), for: "k")
    try folder.open(domain: "s2").save(.string("suite 2"), for: "k")
    try folder.open(domain: "s2").save(.string("only here"), for: "s")
    func open(_ arguments: [String], _ environment: [String: String]) throws -> DefaultsStore {
      let layers = DefaultsLayers(
        arguments, EnvironmentLayer(prefix: "APP_", environment: environment), ["k": .string("registered"), "r": .integer(9)])
      return try folder.open(suites: ["s1", "s2"], layers: layers)
    }
    let store = try open([], [:])
    #expect(try store.load("k") == .string("suite 1"))
    #expect(try store.load("s") == .string("only here"))
    #expect(try store.load("r") == .integer(9))
    try store.save(.string("domain"), for: "k")
    #expect(try store.load("k") == .string("domain"))
    #expect(try open([], ["APP_K": "env"]).load("k") == .argument("env"))

    let overridden = try open(["-k", "-0.125"], ["APP_K": "env"])
    #expect(try overridden.load("k") == .argument("-0.125"))
    try overridden.save(.string("written beneath"), for: "k")
    #expect(try overridden.load("k") == .argument("-0.125"))
    try overridden.update("k") { (old) throws(StoreError) in
      #expect(old == .string("written beneath"))
      return .string("updated")
    }
    #expect(try store.load("k") == .string("updated"))
    #expect(try overridden.names() == ["k", "r", "s"])
    #expect(try overridden.load(["k"])[0].stamp == .string("updated"), "transactions compare what is stored")

    let told = try overridden.explain("k")
    #expect(told.sources.map(\.layer) == [.argument, .environment, .domain, .suite, .suite, .registered])
    #expect(told.winner?.form == .argument("-0.125"))
    #expect(told.sources.map(\.place).contains(overridden.place))
    #expect(told.sources[1].place == "APP_K")
    #expect(!told.description.contains("-0.125") && !told.description.contains("updated"), "kinds and places, no values")
    #expect(try overridden.explain("nothing").winner == nil)
  }

  @Test func `an override is not written to any file`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open(layers: DefaultsLayers(["-k", "v"], nil, ["r": .integer(1)]))
    try store.save(.integer(1), for: "other")
    try store.close()
    #expect(try folder.open(isShared: false).names() == ["other"])
    #expect(kind { try folder.open(isShared: false).save(.argument("x"), for: "k") } == .unencodable)
  }

  @Test func `a prefix names the keys in the file and bounds what is listed and cleared`() throws {
    let folder = try TemporaryFolder()
    let all = try folder.open()
    let ui = try folder.open(layers: DefaultsLayers(["-ui.zoom", "2"], nil, [:], "ui."))
    try ui.save(.string("dark"), for: "theme")
    try all.save(.integer(1), for: "launches")
    #expect(try all.load("ui.theme") == .string("dark"))
    #expect(try ui.names() == ["theme", "zoom"])
    #expect(try ui.load("zoom") == .argument("2"))
    #expect(try ui.load("launches") == nil)
    try ui.removeAll()
    #expect(try all.names() == ["launches"])
    try all.save(.integer(1), for: "list.a")
    try all.removeAll(beginningWith: "list.")
    #expect(try all.names() == ["launches"])
  }

  @Test func `a name that begins with a combining mark is one of its prefix`() throws {
    let folder = try TemporaryFolder()
    let all = try folder.open()
    let ui = try folder.open(layers: DefaultsLayers([], nil, [:], "ui."))
    try all.save(.integer(1), for: "launches")
    try ui.save(.integer(2), for: "\u{301}zoom")
    #expect(try ui.names() == ["\u{301}zoom"])
    #expect(try ui.contents() == ["\u{301}zoom": .integer(2)])
    try ui.removeAll()
    #expect(try all.names() == ["launches"])
  }

  private func increment(_ form: PlainForm?) -> PlainForm? {
    guard case .integer(let number)? = form else { return .integer(1) }
    return .integer(number + 1)
  }

  @Test func `an update begins with the strongest layer that is no override`() throws {
    let folder = try TemporaryFolder()
    try folder.open(domain: "first").save(.integer(41), for: "suite")
    try folder.open(domain: "second").save(.integer(7), for: "suite")
    try folder.open(domain: "second").save(.integer(7), for: "both")
    let layers = DefaultsLayers(["-own", "500", "-suite", "600"], nil, ["both": .integer(9), "registered": .integer(100)])
    let store = try folder.open(suites: ["first", "second"], layers: layers)
    try store.save(.integer(1), for: "own")
    for name in ["own", "suite", "both", "registered", "none"] {
      try store.update(name) { (form) throws(StoreError) in increment(form) }
    }
    let stored = try folder.open(isShared: false).contents()
    #expect(stored["own"] == .integer(2) && stored["suite"] == .integer(42) && stored["both"] == .integer(8))
    #expect(stored["registered"] == .integer(101) && stored["none"] == .integer(1))
    #expect(try folder.open(domain: "first", isShared: false).load("suite") == .integer(41), "the suite is not written")
    // A write that changes nothing does not hide the lower layer.
    try store.save(nil, for: "suite")
    try store.update("suite") { (form) throws(StoreError) in form }
    #expect(try folder.open(isShared: false).load("suite") == nil)
    let reading = try store.load(["suite", "registered"])
    #expect(reading[0].form == .argument("600") && reading[0].base == .integer(41) && reading[0].stamp == nil)
  }
}
