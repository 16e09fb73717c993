import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .defaultRun)
struct HelpTopicTests {
  @Test
  func `coffer help prints each topic, and lists them all`() throws {
    let home = try Home()
    let root = try home.coffer("--help --all").out
    for topic in HelpTopic.all {
      let answer = try home.coffer("help \(topic.name)")
      #expect(answer.status == 0 && answer.out.count > 200 && !answer.out.contains("<doc:"), "\(topic.name)")
      let lines = answer.out.components(separatedBy: "\n")
      #expect(lines.allSatisfy { $0.count <= 80 || !$0.dropFirst(2).contains(" ") || $0.contains("{\"") }, "\(topic.name)")
      #expect(root.contains("  \(topic.name) "), "\(topic.name)")
      for section in topic.sections { #expect(HelpTopic.lines(of: section).count > 2, "\(section)") }
    }
    for variable in ["COFFER_HOME", "XDG_RUNTIME_DIR"] { #expect(try home.coffer("help environment").out.contains(variable)) }
  }
}
