import Coffer
import CofferMemory
import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

/// The two forms of Have I Been Pwned's list.
@Suite struct LeakedHashesTests {
  private let folder: TestFolder
  init() throws { folder = try TestFolder("leaked") }

  private func hash(_ password: String) throws -> String {
    try SecretDigest.sha1.hash(Home.secret(password)).withUnsafeBytes { $0.map { String(format: "%02X", $0) }.joined() }
  }

  private func file(_ name: String, _ text: String) throws -> String {
    let path = folder.path.appending(name).string
    try FileManager.default.createDirectory(
      atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    return path
  }

  private func count(_ password: String, _ path: String) throws -> Int { try LeakedHashes(path).count(Home.secret(password)) }

  @Test(arguments: [1, 2, 3, 64, 65, 1000])
  func `each of a list is found with its count, and no other`(size: Int) throws {
    let passwords = (0..<size).map { "password \($0)" }
    let lines = try passwords.enumerated().map { "\(try hash($1)):\($0 * 7 + 1)" }.sorted()
    for (end, isLower) in [("\n", false), ("\r\n", false), ("\n", true)] {
      let text = lines.joined(separator: end)
      for text in [text, text + end] {
        let leaks = try LeakedHashes(file("list", isLower ? text.lowercased() : text))
        for (index, password) in passwords.enumerated() where size < 100 || index.isMultiple(of: 9) {
          #expect(try leaks.count(Home.secret(password)) == index * 7 + 1)
          #expect(try leaks.count(Home.secret("no \(password)")) == 0)
        }
      }
    }
  }

  @Test func `what is no such list is refused, and nothing is called safe by it`() throws {
    let sorted = try (0..<500).map { "\(try hash("\($0)")):\($0 + 1)" }.sorted()
    let byCount = sorted.sorted { Int($0.split(separator: ":")[1]) ?? 0 > Int($1.split(separator: ":")[1]) ?? 0 }
    for text in [
      "", "\n", byCount.joined(separator: "\n"), sorted.reversed().joined(separator: "\n"),
      sorted.map { String($0.dropFirst(8)) }.joined(separator: "\n"), sorted.map { $0 + "x" }.joined(separator: "\n"),
      sorted.map { String($0.prefix(40)) }.joined(separator: "\n"), "\u{1F}\u{8B}\u{8}" + String(repeating: "x", count: 9000),
      sorted.joined(separator: " "), String(repeating: "A", count: 100_000),
    ] { #expect(kind { _ = try count("1", try file("list", text)) } == .damaged, "\(text.prefix(60))") }
    #expect(kind { _ = try LeakedHashes("/dev/null") } == .damaged)
    #expect(kind { _ = try LeakedHashes(folder.path.string) } == .damaged)
    #expect(kind { _ = try LeakedHashes(folder.path.appending("none").string) } == .io(ENOENT))
  }

  @Test func `a count that no integer has is refused`() throws {
    let hash = try hash("known")
    #expect(try count("known", file("list", "\(hash):9223372036854775807\n")) == .max)
    for number in ["9223372036854775808", "9999999999999999999"] {
      #expect(kind { _ = try count("known", try file("list", "\(hash):\(number)\n")) } == .damaged)
    }
  }

  @Test(arguments: ["", ".txt"])
  func `a folder of ranges answers by the file of the first five digits`(suffix: String) throws {
    let (known, padding) = (try hash("known"), try hash("padding"))
    let other = String(repeating: "0", count: 35)
    for name in ["00000", "FFFFF"] { _ = try file("ranges/\(name)\(suffix)", "\(other):3\r\n") }
    _ = try file("ranges/\(known.prefix(5))\(suffix)", "\(other):3\r\n\(known.dropFirst(5)):42\r\n")
    // The API fills its answers up with hashes that were seen no times.
    _ = try file("ranges/\(padding.prefix(5))\(suffix)", "\(padding.dropFirst(5)):0")
    let path = folder.path.appending("ranges").string
    #expect(try count("known", path) == 42 && count("padding", path) == 0)
    let error = #expect(throws: StoreError.self) { _ = try count("missing", path) }
    #expect(error.map { !"\($0)".contains((try? hash("missing").prefix(5)) ?? "?") } == true, "the digits are told to nobody")
    _ = try file("ranges/\(known.prefix(5))\(suffix)", "\(known):42\n")
    #expect(kind { _ = try count("known", path) } == .damaged)
  }
}
