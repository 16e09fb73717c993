internal import Coffer
internal import Foundation
internal import SystemPackage

struct ExpiringLogin {
  struct Token: Codable, Sendable { var text: String, expiry: Date }

  struct Keys: KeySpace {
    let user = StorageKey("user", of: String.self).endsWithSession()
    let token = StorageKey("token", secret: Token.self).expires { $0.expiry }.endsWithSession()
  }

  private let home: FilePath
  private let app: StorageRouter
  private let session: Session<String>
  private let keys = Keys()

  init(_ home: FilePath) throws {
    self.home = home
    let places = try SessionVerbs.places(home)
    let bytes = try Data(contentsOf: URL(fileURLWithPath: home.appending("key").string))
    let key = try bytes.bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
    let vault = try places.openVault().unlock(with: Credentials(keyFile: key))
    app = try StorageRouter.open("expiring", keys: keys, vault: vault, places: places, overrides: .none)
    session = try app.session(user: keys.user, credential: keys.token)
  }

  func login(seconds: Double) throws {
    try session.login(as: "ada") { try $0.set(Sealed(Token(text: "old", expiry: Date() + seconds)), for: keys.token) }
  }

  func renew(after go: String) async throws {
    do {
      _ = try await app.value(for: keys.token)
      print("found a live credential")
      return
    } catch  where error.kind == .expired { try SessionVerbs.append(to: home.appending("asked")) }
    while access(home.appending(go).string, F_OK) != 0 { try await Task.sleep(for: .milliseconds(2)) }
    let token = try await session.refresh(keys.token, within: .seconds(600)) { _ in
      try SessionVerbs.append(to: home.appending("renewals"))
      return try Sealed(Token(text: "renewed by \(getpid())", expiry: Date() + 3600))
    }
    print(try token.reveal().text)
  }
}
