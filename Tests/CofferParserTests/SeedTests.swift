import Foundation
import Testing

/// The fewest inputs that reach all the code that a fuzzer has reached, and those that once did harm. `.ci/fuzz` continues
/// from them.
@Suite struct SeedTests {
  private static let parsers = VaultParsers.all + PostgresParsers.all + DefaultsParsers.all + CommandLineParsers.all
  /// Parsers with all requirements here.
  private static let present = parsers.filter { parser in
    guard let obstacle = PostgresParsers.obstacle, PostgresParsers.all.contains(where: { $0.name == parser.name }) else {
      return true
    }
    print("skipped: \(parser.name): \(obstacle)")
    return false
  }
  private static let fixtures = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Fixtures")
    .standardized

  private static func files(_ path: String) throws -> [URL] {
    let place = fixtures.appending(path: path)
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: place.path(), isDirectory: &isFolder), isFolder.boolValue else { return [place] }
    return try FileManager.default.contentsOfDirectory(at: place, includingPropertiesForKeys: nil)
  }

  @Test func `every input that a fuzzer found is read as is promised`() throws {
    var (read, accepted) = (0, 0)
    for parser in Self.present {
      var outcomes: Set<Bool> = []
      for file in try (["Fuzz/\(parser.name)"] + parser.fixtures).flatMap(Self.files) {
        let input = Array(try Data(contentsOf: file))
        do {
          let isAccepted = try parser.accepts(input)
          outcomes.insert(isAccepted)
          (read, accepted) = (read + 1, accepted + (isAccepted ? 1 : 0))
        } catch { Issue.record("\(parser.name) \(file.lastPathComponent): \(error)") }
      }
      #expect(outcomes.contains(true), "\(parser.name): an input is accepted")
    }
    print("inputs of \(Self.present.count) parsers: \(read), \(accepted) of them accepted")
  }

  @Test func `each folder of inputs is of a parser`() throws {
    let folders = try FileManager.default.contentsOfDirectory(atPath: Self.fixtures.appending(path: "Fuzz").path())
    #expect(Set(folders) == Set(Self.parsers.map(\.name)))
    #expect(Self.parsers.count == folders.count, "no two parsers have one name")
  }
}
