import CofferTestSupport
import Foundation
import Testing

/// The scripts for a release, on small input. `.ci/release --check` tests the whole.
@Suite(.serialized, .tags(.process), .wholeRun)
final class ReleaseTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "coffer-release-\(UUID().uuidString)")
  init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }
  deinit { try? FileManager.default.removeItem(at: folder) }

  private func run(_ command: String...) throws -> (status: Int32, output: Data, text: String) { try run(command) }

  private func run(_ command: [String]) throws -> (status: Int32, output: Data, text: String) {
    let process = Process(), output = Pipe()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = command
    process.currentDirectoryURL = folder
    process.standardOutput = output
    process.standardError = output
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return (process.terminationStatus, data, String(decoding: data, as: UTF8.self))
  }

  private func script(_ name: String) -> String { Package.root.appending(path: ".ci/releasing/\(name)").path() }

  private func write(_ name: String, _ content: String) throws {
    try Data(content.utf8).write(to: folder.appending(path: name))
  }

  // The packages

  @Test func `the packages of a release are those that its sources ask for, with the commits of their tags`() throws {
    let package = folder.appending(path: "package").path()
    let git = ["git", "-c", "user.name=n", "-c", "user.email=e@example.com", "-C", package]
    for words in [["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "1"], ["tag", "-a", "1.0.0", "-m", "1"]] {
      if words[0] == "init" { try FileManager.default.createDirectory(atPath: package, withIntermediateDirectories: true) }
      #expect(try run(git + words).status == 0)
    }
    let commit = try run(git + ["rev-parse", "HEAD"]).text.trimmingCharacters(in: .whitespacesAndNewlines)
    try FileManager.default.createDirectory(at: folder.appending(path: "source"), withIntermediateDirectories: true)
    try write("source/Package.swift", ".package(url: \"\(package)\", from: \"1.0.0\")")
    func answer(_ location: String, _ revision: String, _ version: String) throws -> (status: Int32, output: Data, text: String) {
      try write(
        "resolved",
        """
        {"pins": [{"identity": "p", "location": "\(location)", "state": {"revision": "\(revision)", "version": "\(version)"}}]}
        """)
      return try run(script("pins"), "resolved", "source")
    }
    #expect(try answer(package, commit, "1.0.0").status == 0)
    let other = try answer(package, String(commit.reversed()), "1.0.0")
    #expect(other.status == 1 && other.text.contains("and its version 1.0.0 is \(commit)"))
    #expect(try answer(package, commit, "1.0.1").status == 1)
    let elsewhere = try answer("https://example.com/p", commit, "1.0.0")
    #expect(elsewhere.status == 1 && elsewhere.text.contains("of which Package.swift says nothing"))
  }

  // The bill of materials

  private static let dependencies = """
    {"identity": "coffer", "name": "coffer", "url": "/somewhere", "version": "unspecified", "dependencies": [
      {"identity": "swift-b", "name": "swift-b", "url": "https://example.org/people/swift-b.git", "version": "2.0.1",
       "dependencies": [
        {"identity": "swift-a", "name": "swift-a", "url": "https://example.org/people/swift-a", "version": "1.2.3",
         "dependencies": []}]}]}
    """
  private static let resolved = """
    {"pins": [{"identity": "swift-a", "state": {"revision": "aaaa", "version": "1.2.3"}},
              {"identity": "swift-b", "state": {"revision": "bbbb", "version": "2.0.1"}}], "version": 3}
    """

  private func bill(_ program: String, _ name: String) throws -> [String: Any]? {
    let made = try run(
      script("sbom"), "--program", program, "--inputs", "inputs", "--dependencies", "dependencies", "--resolved", "resolved",
      "--version", "0.1.0", "--commit", "0123abcd", "--time", "1700000000")
    #expect(made.status == 0, "\(made.text)")
    try made.output.write(to: folder.appending(path: name))
    return try JSONSerialization.jsonObject(with: made.output) as? [String: Any]
  }

  @Test func `the bill of materials has what is linked and what is loaded, with versions`() throws {
    let version = try run("dpkg-query", "-W", "-f", "${Version}", "libc6")
    guard version.status == 0 else { try Test.skip("no Debian packages") }
    try write("dependencies", Self.dependencies)
    try write("resolved", Self.resolved)
    // A make rule, as the linker writes it; files made by this build are no material.
    try write(
      "inputs",
      "coffer: \\\n  /x/.build/release/main.o \\\n  /nowhere/libsmall.a \\\n  /usr/lib/libc.so\n\n/nowhere/libsmall.a:\n")
    // A program that needs only the C library, but contains the name of a library to load.
    let program = try Data(contentsOf: URL(filePath: "/bin/true")) + Data("\0libcoffer-none.so.7\0".utf8)
    try program.write(to: folder.appending(path: "program"))

    let bill = try #require(try bill("program", "bill"))
    let parts = try #require(bill["components"] as? [[String: Any]])
    let listed = parts.map { part in
      let properties = (part["properties"] as? [[String: String]] ?? []).prefix(2).compactMap { $0["value"] }
      return ([part["name"] as? String ?? "", part["version"] as? String ?? "-"] + properties).joined(separator: " ")
    }
    #expect(
      listed.filter { !$0.hasPrefix("swift ") } == [
        "swift-b 2.0.1 static bbbb", "swift-a 1.2.3 static aaaa", "libsmall.a - static", "libc6 \(version.text) shared glibc",
        "libcoffer-none.so.7 - loaded",
      ])
    #expect(parts.contains { $0["purl"] as? String == "pkg:swift/example.org/people/swift-b@2.0.1" })
    let root = (bill["metadata"] as? [String: Any])?["component"] as? [String: Any]
    let hash = (root?["hashes"] as? [[String: String]])?.first?["content"]
    #expect(try hash == String(run("sha256sum", "program").text.prefix(64)))
    #expect((bill["metadata"] as? [String: Any])?["timestamp"] as? String == "2023-11-14T22:13:20Z")

    // In a comparison, the machine's libraries may be newer, but linked-in ones may not.
    let text = try String(contentsOf: folder.appending(path: "bill"), encoding: .utf8)
    try write("machine", text.replacing("\"version\": \"\(version.text)\"", with: "\"version\": \"9\""))
    try write("other", text.replacing("\"bbbb\"", with: "\"cccc\""))
    let same = try run(script("compare-sboms"), "machine", "bill"), other = try run(script("compare-sboms"), "other", "bill")
    let said = "of this machine: libc6: 9 in the release, \(version.text) here"
    #expect(same.status == 0 && same.text.contains(said), "\(same.text)")
    #expect(other.status == 1 && other.text.contains("different: swift-b"), "\(other.text)")
    var apart = bill
    let arrows = try #require(bill["dependencies"] as? [[String: Any]])
    #expect(arrows.contains { ($0["dependsOn"] as? [String])?.contains { $0.contains("swift-a") } == true })
    apart["dependencies"] = arrows.map { $0.merging(["dependsOn": [String]()]) { $1 } }
    try JSONSerialization.data(withJSONObject: apart).write(to: folder.appending(path: "apart"))
    let cut = try run(script("compare-sboms"), "apart", "bill")
    #expect(cut.status == 1 && cut.text.contains("different: swift-b needs"), "\(cut.text)")
    var doubled = bill
    doubled["components"] = parts + [try #require(parts.first)]
    try JSONSerialization.data(withJSONObject: doubled).write(to: folder.appending(path: "doubled"))
    let twice = try run(script("compare-sboms"), "doubled", "bill")
    #expect(twice.status == 1 && twice.text.contains("two components of the name"), "\(twice.text)")
  }
}
