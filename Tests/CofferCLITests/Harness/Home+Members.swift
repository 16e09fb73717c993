import CofferTestSupport
import Foundation
import Testing

extension Home {
  static func withIdentity() throws -> (home: Home, recipient: String) {
    let home = try Home()
    let made = try home.coffer("vault identity \(home.path)/me --new")
    try #require(made.status == 0, "\(made.err)")
    home.environment["COFFER_IDENTITY"] = home.path + "/me"
    return (home, made.out.trimmingCharacters(in: .newlines))
  }

  /// Runs a command that changes the key or adds a recipient, and checks its messages.
  ///
  /// - Returns: the invitation: the printed one, or without a recipient that of `pin show`.
  @discardableResult
  func changesKey(_ line: String, _ said: String = "", _ location: SourceLocation = #_sourceLocation) throws -> String {
    let answer = try coffer(line)
    #expect(answer.status == 0 && (said.isEmpty || answer.err.contains(said)), "\(answer.err)", sourceLocation: location)
    let isQuiet = line.contains("--quiet")
    let tells = answer.err.contains("nobody can tamper with")
    #expect(
      isQuiet ? answer.err.isEmpty : tells != answer.out.isEmpty, "\(answer.err)", sourceLocation: location)
    var invitation = answer.out.trimmingCharacters(in: .newlines)
    if invitation.isEmpty {
      let vault = line.firstMatch(of: /--vault \S+/).map { String($0.output) } ?? ""
      invitation = try coffer("vault invite \(vault)").out.trimmingCharacters(in: .newlines)
    }
    #expect(invitation.wholeMatch(of: /PVINV1-[0-9a-f]{120}/) != nil, "\(answer.out)", sourceLocation: location)
    return invitation
  }
}
