import CofferTestSupport
import Foundation
import Testing

struct FakeClipboard {
  let home: Home

  /// - Parameter script: replaces the clipboard script.
  init(_ script: String? = nil) throws {
    home = try Home.withVault()
    try home.transcript("vault set github ada", in: "hunter2")
    home.environment["DISPLAY"] = ":none"
    home.environment["PATH"] = "\(home.path)/bin:/usr/bin:/bin"
    let usual = """
      echo "$* by $PPID" >> log; tr '\\0' '\\n' < /proc/$$/environ > environ
      case "$*" in *-in) cat > clip;; *) cat clip;; esac
      """
    try install("xclip", "cd '\(home.path)' || exit 9\n\(script ?? usual)")
  }

  /// Written by a shell: a file open for writing here cannot be executed by another test's child.
  func install(_ name: String, _ script: String) throws {
    let words = ["sh", "-c", "mkdir -p \"$0\"; cat > \"$0/$1\"; chmod 700 \"$0/$1\"", home.path + "/bin", name]
    let answer = try #require(try home.program(words, in: "#!/bin/sh\n\(script)\n", with: ["PATH": "/usr/bin:/bin"]))
    try #require(answer.status == 0, "\(answer.err)")
  }

  var content: String { (try? home.content("clip")) ?? "" }
  var calls: [String] { ((try? home.content("log")) ?? "").split(separator: "\n").map(String.init) }

  static func keeper(_ seconds: Int) -> pid_t? {
    let words = Data("clipboard-keeper\0xclip\0\(seconds)\0".utf8)
    for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? [] {
      guard let id = pid_t(name), let line = FileManager.default.contents(atPath: "/proc/\(id)/cmdline") else { continue }
      if line.suffix(words.count) == words { return id }
    }
    return nil
  }
}
