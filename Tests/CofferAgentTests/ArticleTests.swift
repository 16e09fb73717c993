import CofferClient
import CofferPlatform
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

  @Test func `the article lists every kind of error in the order of the codes`() throws {
    let text = try String(contentsOf: Self.article, encoding: .utf8)
    let list = try #require(text.firstMatch(of: /The kinds are, in their order, from 1: ((?s).*?)\. See/)).1
    let kinds = StoreError.Kind.all.sorted { $0.code < $1.code }.map(\.word)
    #expect(list.matches(of: /`([a-zA-Z]+)`/).map { String($0.1) }.filter { $0 != "errno" } == kinds)
  }
}
