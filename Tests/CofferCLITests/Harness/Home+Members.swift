import CofferTestSupport
import Foundation
import Testing

extension Home {
  static func withIdentity() throws -> (home: Home, recipient: String) {
    let home = try Home()
    let made = try home.coffer("vault identity new \(home.path)/me")
    try #require(made.status == 0, "\(made.err)")
    home.environment["COFFER_IDENTITY"] = home.path + "/me"
    return (home, made.out.trimmingCharacters(in: .newlines))
  }

  /// Runs a command that prints the invitation, and checks its messages.
  @discardableResult
  func changesKey(_ line: String, _ said: String = "", _ location: SourceLocation = #_sourceLocation) throws -> String {
    let answer = try coffer(line)
    #expect(answer.status == 0 && (said.isEmpty || answer.err.contains(said)), "\(answer.err)", sourceLocation: location)
    let isQuiet = line.contains("--quiet")
    #expect(
      isQuiet ? answer.err.isEmpty : answer.err.contains("has to come by a way that nobody can change"), "\(answer.err)",
      sourceLocation: location)
    let invitation = answer.out.trimmingCharacters(in: .newlines)
    #expect(invitation.wholeMatch(of: /PVINV1-[0-9a-f]{120}/) != nil, "\(answer.out)", sourceLocation: location)
    return invitation
  }
}
