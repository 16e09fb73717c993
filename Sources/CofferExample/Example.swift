import Coffer
import Foundation

/// A preference. `PlainValue` says that it may be read by anyone with the file.
enum Theme: String, PlainValue, CaseIterable { case light, dark }

/// Everything that this program keeps, each declared once. The declaration decides the store.
struct ExampleKeys: KeySpace {
  let theme = StorageKey("theme", default: Theme.light)
  let user = StorageKey("user", of: String.self).endsWithSession()
  let token = StorageKey("token", secret: String.self).endsWithSession()
}

/// A client of some server: `login NAME` (the token from standard input), `logout`, `whoami`, `token`, `theme [light|dark]`.
@main struct Example {
  let keys = ExampleKeys()
  let app: StorageRouter
  let session: Session<String>

  static func main() {
    do {
      try Example().run(Array(CommandLine.arguments.dropFirst()))
    } catch {
      // What happened, where, and what to do about it; never a value.
      FileHandle.standardError.write(Data("\(error)\n".utf8))
      exit(1)
    }
  }

  init() throws {
    app = try Self.open(keys)
    session = try app.session(user: keys.user, credential: keys.token)
  }

  /// The vault is opened by the key file that COFFER_KEY_FILE names. Without one it stays locked, and preferences work all the
  /// same.
  static func open(_ keys: ExampleKeys) throws -> StorageRouter {
    guard let path = ProcessInfo.processInfo.environment["COFFER_KEY_FILE"] else {
      return try StorageRouter.open("org.example.client", keys: keys)
    }
    return try StorageRouter.open("org.example.client", keys: keys, credentials: Credentials(keyFileAt: FilePath(path)))
  }

  func run(_ arguments: [String]) throws {
    switch (arguments.first, arguments.dropFirst().first) {
    case ("login", let name?): try login(name)
    case ("logout", _): try session.logout()
    case ("whoami", _): print(try describe(session.state()))
    case ("token", _): try printToken()
    case ("theme", let name?): try changeTheme(to: name)
    case ("theme", nil): print(try app.value(for: keys.theme).rawValue)
    default: print("usage: CofferExample login NAME | logout | whoami | token | theme [light|dark]")
    }
    try app.close()
  }

  /// Both stores or neither: the user's name goes to the property list, the token to the vault.
  func login(_ name: String) throws {
    guard let token = readLine(), !token.isEmpty else { return print("give the token on standard input") }
    try session.login(as: name) { try $0.set(Sealed(token), for: keys.token) }
    print("hello, \(name)")
  }

  func describe(_ state: Session<String>.State) -> String {
    switch state {
    case .loggedIn(let name): name
    case .loggedOut: "nobody"
    case .expired: "somebody, but the token has expired"
    case .locked: "locked: set COFFER_KEY_FILE"
    }
  }

  func printToken() throws {
    guard let token = try app.value(for: keys.token) else { return print("nobody is logged in") }
    token.withBytes { bytes in bytes.withUnsafeBytes { FileHandle.standardOutput.write(Data($0)) } }
  }

  func changeTheme(to name: String) throws {
    guard let theme = Theme(rawValue: name) else {
      return print("there are \(Theme.allCases.map(\.rawValue).joined(separator: " and "))")
    }
    try app.set(theme, for: keys.theme)
  }
}
