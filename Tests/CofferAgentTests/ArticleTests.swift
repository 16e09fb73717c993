import CofferClient
import CofferTestSupport
import Foundation
import Testing

@testable import CofferAgent

@Suite struct ArticleTests {
  private static let article = URL(filePath: #filePath)
    .deletingLastPathComponent().appending(path: "../../Sources/Coffer/Coffer.docc/AgentProtocol.md").standardizedFileURL

  @Test func `the article has this version and every request`() throws {
    let text = try String(contentsOf: Self.article, encoding: .utf8)
    #expect(text.contains("| 1 | the version of the protocol: \(AgentProtocol.version) |"))
    let told = text.matches(of: /\n\| (\d+) \| ([a-z]+) \|/).compactMap { match in
      UInt8(match.1).flatMap(AgentProtocol.Request.init(rawValue:)).map { ($0, String(match.2)) }
    }
    for request in AgentProtocol.Request.allCases {
      #expect(told.contains { $0 == request && $1 == "\(request)" }, "\(request)")
    }
  }
}
