import CofferTestSupport
import Foundation
import Testing

/// Output to a pipe stays as before: no header, sign or color, and no time where a date was.
@Suite(.tags(.process), .wholeRun)
struct PipeTests {
  /// Commands with their output from before terminal formatting. `2>` is standard error, `<` standard input.
  private static let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appending(path: "../../../Fixtures/CommandLine/pipe.txt").standardized

  @Test(arguments: [
    ["TERM": "xterm-256color", "LANG": "C.UTF-8", "CLICOLOR_FORCE": "1", "COLUMNS": "20", "COFFER_PAGER": "false"], [:],
  ])
  func `a pipe gets byte for byte what it got before, whatever the terminal's variables say`(variables: [String: String]) throws {
    let home = try Home()
    home.environment.merge(variables) { $1 }
    home.environment["COFFER_KEY_FILE"] = home.path + "/key"
    _ = try home.file(
      "items.json", #"[{"service":"s","account":"a","value":"v"},{"service":"t","account":"a","value":"v"}]"#)
    let expected = try String(contentsOf: Self.file, encoding: .utf8)
    var found = ""
    for line in expected.split(separator: "\n") where line.hasPrefix("$ coffer ") {
      let parts = line.dropFirst("$ coffer ".count).components(separatedBy: " < ")
      let answer = try home.coffer(
        parts[0].replacingOccurrences(of: "HOME", with: home.path), in: Data((parts.count > 1 ? parts[1] : "").utf8))
      found += line + "\n" + Self.constant(answer.out, home)
      found += Self.constant(answer.err, home).split(separator: "\n").map { "2> \($0)\n" }.joined()
      if answer.status != 0 { found += "exit \(answer.status)\n" }
    }
    #expect(found.split(separator: "\n") == expected.split(separator: "\n"))
  }

  /// Without parts that differ between runs.
  private static func constant(_ text: String, _ home: Home) -> String {
    text.replacingOccurrences(of: home.path, with: "HOME").replacing(/before-[0-9TZ]+/, with: "before-STAMP")
      .replacing(/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z/, with: "DATE").replacing(/PVINV1-[0-9a-f]+/, with: "INVITATION")
      .replacing(/[0-9a-f]{32}/, with: "ID").replacing(/process [0-9]+/, with: "process N").replacing(
        /user [0-9]+/, with: "user N")
  }
}
