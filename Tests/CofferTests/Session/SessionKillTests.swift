import CofferTestSupport
import Foundation
import Testing

/// A session's process is killed at every step. Afterwards both stores agree on the old state or the new one.
@Suite(.tags(.campaign, .kill, .process), .wholeRun)
struct SessionKillTests {
  /// The step at which the process dies, and whether the login or logout has then happened.
  static let steps: [(name: String, happened: Bool)] = [
    ("recordCopied", false), ("prepared", false), ("beforeVaultCommit", false), ("afterVaultCommit", true),
    ("decided", true), ("committed", true), ("commitDurable", true), ("beforeForget", true), ("afterForget", true),
  ]

  @Test(arguments: steps)
  func `a killed login happened in both stores or in neither`(step: (name: String, happened: Bool)) throws {
    let home = try SessionHome()
    #expect(try home.run("login", home.path, "ada").status == 0)
    #expect(try home.run("login", home.path, "bob", step.name).status == SIGKILL, "dies at \(step.name)")
    #expect(try home.agreement()?.user == (step.happened ? "bob" : "ada"))
    #expect(try home.run("logout", home.path).status == 0)
    #expect(try home.agreement() == nil)
  }

  @Test(arguments: steps)
  func `a killed logout happened in both stores or in neither`(step: (name: String, happened: Bool)) throws {
    let home = try SessionHome()
    #expect(try home.run("login", home.path, "ada").status == 0)
    #expect(try home.run("logout", home.path, step.name).status == SIGKILL, "dies at \(step.name)")
    #expect(try home.agreement()?.user == (step.happened ? nil : "ada"))
    #expect(try home.run("login", home.path, "bob").status == 0)
    #expect(try home.agreement()?.user == "bob")
  }

  @Test(arguments: [("renewing", false), ("beforeVaultCommit", false), ("afterVaultCommit", true)])
  func `a killed refresh stored the new credential or left the old one`(step: (name: String, happened: Bool)) throws {
    let home = try SessionHome()
    #expect(try home.run("login", home.path, "ada").status == 0)
    #expect(try home.run("refresh", home.path, "ada-token", step.name).status == SIGKILL, "dies at \(step.name)")
    let token = try #require(try home.agreement()).token
    #expect(token.hasPrefix("ada-renewed") == step.happened && (step.happened || token == "ada-token"))
    #expect(try home.run("refresh", home.path, token).status == 0)
    #expect(home.renewals == (step.name == "beforeVaultCommit" || step.name == "renewing" || step.happened ? 2 : 1))
  }

  @Test(arguments: ["login", "logout"])
  func `killed in the vault's sync beside a process that settles and dies too, both stores agree`(what: String) throws {
    try Tracing.need()
    var users: [String?] = []
    for number in 1...4 {
      let home = try SessionHome()
      #expect(try home.run("login", home.path, "ada").status == 0)
      let isLogin = what == "login"
      let status =
        try isLogin ? home.killedAtSync(number, "login", home.path, "bob") : home.killedAtSync(number, "logout", home.path)
      let found = try home.agreement()?.user
      #expect(status == 0 ? found == (isLogin ? "bob" : nil) : found == "ada" || found == (isLogin ? "bob" : nil))
      users.append(found)
    }
    // The log's first sync, of its head, then the commit's, and that of the next part.
    #expect(users[1] == "ada" && users[3] == (what == "login" ? "bob" : nil), "\(users)")
  }

  @Test(arguments: ["login", "logout", "refresh"])
  func `killed at any call that changes a file, both stores agree`(what: String) throws {
    try Tracing.need()
    let isLong = Campaign.isLong
    var outcomes: [String: Int] = [:]
    for call in SessionHome.calls {
      for number in stride(from: 1, to: 2000, by: isLong ? 1 : 13) {
        let home = try SessionHome()
        #expect(try home.run("login", home.path, "ada").status == 0)
        let status =
          switch what {
          case "login": try home.traced(killedAt: number, of: call, "login", home.path, "bob")
          case "logout": try home.traced(killedAt: number, of: call, "logout", home.path)
          default: try home.traced(killedAt: number, of: call, "refresh", home.path, "ada-token")
          }
        let found = try home.agreement()
        let isNew =
          switch what {
          case "login": found?.user == "bob"
          case "logout": found == nil
          default: found?.token != "ada-token"
          }
        #expect(isNew || found?.token == "ada-token", "killed at \(call) \(number)")
        #expect(status != 0 || isNew)
        outcomes[status == 0 ? "ran to its end" : isNew ? "killed, all of it" : "killed, none of it", default: 0] += 1
        if status == 0 { break }
      }
    }
    print("kills at system calls of a \(what): \(outcomes.sorted { $0.key < $1.key })")
    #expect((outcomes["killed, none of it"] ?? 0) > 0 && outcomes["ran to its end"] == SessionHome.calls.count)
    if isLong { #expect((outcomes["killed, all of it"] ?? 0) > 0) }
  }
}
