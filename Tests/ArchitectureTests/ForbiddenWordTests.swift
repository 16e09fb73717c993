import Foundation
import Testing

@Suite struct ForbiddenWordTests {
  /// Programs that measure and mocks that assert, not code that keeps secrets.
  static let exempt: Set<String> = ["CofferBenchmarks", "CofferTesting"]

  private func libraryFiles() throws -> [SourceFile] {
    try Package.entries(of: Package.sources).filter { !Self.exempt.contains($0) }.flatMap(Package.files(of:))
  }

  @Test func `no error is swallowed or trapped on`() throws {
    let swallowing = /\btry[?!]/
    for file in try libraryFiles() where file.text.contains("try?") || file.text.contains("try!") {
      for (number, line) in file.code where line.contains(swallowing) {
        Issue.record("Sources/\(file.path):\(number): no try? or try! in library code")
      }
    }
  }

  @Test func `fatalError stands in unavailable declarations only`() throws {
    for file in try libraryFiles() {
      let code = file.code
      for (index, (number, line)) in code.enumerated() where line.contains("fatalError(") {
        // The attribute precedes the declaration's signature, which may take several lines.
        let above = code[max(0, index - 12)...index].map(\.line)
        let declaration = above.suffix(from: above.lastIndex { $0.allSatisfy(\.isWhitespace) } ?? above.startIndex)
        if !declaration.contains(where: { $0.contains("unavailable") }) {
          Issue.record("Sources/\(file.path):\(number): fatalError outside an unavailable declaration")
        }
      }
    }
  }

  @Test func `no initializer leaves a vault uncompared with its pins unless it is told to`() throws {
    // Internal code leaves the choice to the API.
    for file in try libraryFiles() where !file.path.hasPrefix("CofferVault/Engine/") {
      for (number, line) in file.code where line.contains("= .withoutPins") {
        Issue.record("Sources/\(file.path):\(number): without pins by default")
      }
    }
  }

  // swift-format's NeverForceUnwrap checks the syntax; this holds if its run was forgotten.
  @Test func `nothing is force-unwrapped`() throws {
    let unwrap = /[\w\)\]]!(?!=)/
    for file in try libraryFiles() {
      for (number, line) in file.code where line.contains(unwrap) {
        Issue.record("Sources/\(file.path):\(number): force unwrap: \(line.trimmingCharacters(in: .whitespaces))")
      }
    }
  }

  @Test func `strings and comments are no code`() {
    #expect(SourceFile.withoutLiteralsAndComments(#"let a = "no \" try!" // try?"#) == #"let a = "" "#)
  }
}
