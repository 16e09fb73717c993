import Foundation
import Testing

@Suite struct CommandNameTests {
  private static let libraries = [
    "CofferPlatform", "CofferMemory", "CofferObservation", "CofferStorage", "CofferDefaults", "CofferVault", "CofferAgent",
    "CofferClient", "CofferValues",
    "CofferFoundation",
    "Coffer",
  ]

  // Made once: each evaluation of a literal parses it.
  nonisolated(unsafe) private static let own = /COFFER_(HOME|VAULT|EXPECT_VAULT|KEY_FILE|PASSPHRASE_FILE|IDENTITY)\b/
  nonisolated(unsafe) private static let name = /\bcoffer [a-z]|--[a-z]|COFFER_/

  /// Command line terms, in a literal that begins on the same line.
  private static func names(in line: String) -> Bool {
    guard let quote = line.firstIndex(of: "\"") else { return false }
    // The library itself reads these: its places, and the sources of Credentials.standard().
    let text = line[quote...].replacing(own, with: "")
    return text.contains(name)
  }

  @Test func `no text of a library names a command, a flag or a variable of the command line`() throws {
    for line in [#""try coffer unlock""#, #"cure: "say --force")"#, #"x("COFFER_DOMAIN")"#] {
      #expect(Self.names(in: line))
    }
    for line in [#"label: "coffer")"#, #"variable("COFFER_HOME")"#, #"set COFFER_KEY_FILE""#, "count --limit"] {
      #expect(!Self.names(in: line))
    }
    for file in try Self.libraries.flatMap(Package.files) {
      for (number, line) in zip(1..., file.text.split(separator: "\n", omittingEmptySubsequences: false))
      where !line.drop(while: \.isWhitespace).hasPrefix("//") {
        #expect(!Self.names(in: String(line)), "\(file.path):\(number): \(line)")
      }
    }
  }
}
