import Testing

/// Tests wait for events, not for a time: on a busy machine each time is too short, and on a quiet one too long.
@Suite struct WaitingTests {
  @Test func `a test that waits for a time says why no event tells what it waits for`() throws {
    let waiting = /\b(usleep|nanosleep|Thread\.sleep|Task\.sleep)\(|(^|[^.\w])sleep\(/
    var waits = 0
    for file in try Package.tests() where !file.path.hasPrefix("TestTool/") && file.text.contains("sleep(") {
      let lines = file.text.split(separator: "\n", omittingEmptySubsequences: false)
      for (number, line) in file.code where line.contains(waiting) {
        waits += 1
        // A loop that checks repeatedly waits for its condition.
        let before = file.code[max(0, number - 7)..<number]
        let isLook = before.contains { $0.line.contains(/\b(while|where)\b/) }
        let saysWhy = lines[max(0, number - 2)..<number].contains { $0.contains("// No event: ") }
        #expect(isLook || saysWhy, "Tests/\(file.path):\(number): wait with eventually(), or say why: // No event: …")
      }
    }
    #expect(waits > 30)
  }
}
