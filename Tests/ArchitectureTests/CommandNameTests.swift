import Foundation
import Testing

@Suite struct CommandNameTests {
  private static let libraries = [
    "CofferPlatform", "CofferMemory", "CofferStorage", "CofferDefaults", "CofferVault", "CofferAgent", "CofferValues",
    "CofferFoundation",
    "Coffer",
  ]

  /// What a text of the command line would say, in a literal that begins on the same line.
  private static func names(in line: String) -> Bool {
    guard let quote = line.firstIndex(of: "\"") else { return false }
    // Places of the library are moved by this variable, which the library reads itself.
    let text = line[quote...].replacing("COFFER_HOME", with: "")
    return text.contains(/\bcoffer [a-z]|--[a-z]|COFFER_/)
  }

  @Test func `no text of a library names a command, a flag or a variable of the command line`() throws {
    for line in [#""try coffer unlock""#, #"cure: "say --force")"#, #"x("COFFER_EXPECT_VAULT")"#] {
      #expect(Self.names(in: line))
    }
    for line in [#"label: "coffer")"#, #"variable("COFFER_HOME")"#, "count --limit"] { #expect(!Self.names(in: line)) }
    for file in try Self.libraries.flatMap(Package.files) {
      for (number, line) in zip(1..., file.text.split(separator: "\n", omittingEmptySubsequences: false))
      where !line.drop(while: \.isWhitespace).hasPrefix("//") {
        #expect(!Self.names(in: String(line)), "\(file.path):\(number): \(line)")
      }
    }
  }
}
