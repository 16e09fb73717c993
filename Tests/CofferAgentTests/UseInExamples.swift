import CofferClient
import Foundation

// The protocols of other libraries, as they were when this was written. Their packages are not fetched.

/// xtool, Sources/XKit/KeyValueStorage.swift: the texts have implementations of their own there.
private protocol KeyValueStorage: Sendable {
  func data(forKey key: String) throws -> Data?
  func setData(_ data: Data?, forKey key: String) throws
}

/// OAuthKit, Sources/OAuthKit/Keychain/Keychain+Storage.swift (03a594b7), where it is internal.
enum Keychain {
  protocol Storage {
    init(account: String)
    var account: String { get }
    var keys: [String] { get }
    func set(_ data: Data, for key: String) throws -> Bool
    func get(key: String) throws -> Data?
    func delete(key: String) -> Bool
    func clear() -> Bool
    func accountKey(_ key: String) -> String
  }
}

extension Keychain.Storage {
  func accountKey(_ key: String) -> String { account + "." + key + ".oauth-token" }
}

/// swift-huggingface, Sources/HuggingFace/Shared/TokenProvider.swift (dca748ef).
enum TokenProvider: Sendable {
  case custom(@Sendable () async throws -> String?)

  func getToken() async throws -> String? {
    switch self {
    case .custom(let implementation): try await implementation()
    }
  }
}

// What the page shows.

struct AgentKeyValueStorage: KeyValueStorage {
  let agent: AgentConnection

  func data(forKey key: String) throws -> Data? {
    try agent.value(of: AgentItem(service: "sh.xtool", account: key))?.withUnsafeBytes { Data($0) }
  }

  func setData(_ data: Data?, forKey key: String) throws {
    let item = AgentItem(service: "sh.xtool", account: key)
    guard let data else { return _ = try agent.delete(item) }
    try agent.set(data.withUnsafeBytes { try SecretBuffer(copying: $0) }, for: item)
  }
}

extension Keychain {
  struct AgentStorage: Storage {
    let account: String
    var agent = Result { () throws(ClientError) in try AgentConnection.standard() }

    init(account: String) { self.account = account }

    var keys: [String] {
      do { return try agent.get().list(service: account).map(\.account) } catch { return [] }
    }

    func set(_ data: Data, for key: String) throws -> Bool {
      try agent.get().set(data.withUnsafeBytes { try SecretBuffer(copying: $0) }, for: item(accountKey(key)))
      return true
    }

    func get(key: String) throws -> Data? {
      try agent.get().value(of: item(accountKey(key)))?.withUnsafeBytes { Data($0) }
    }

    func delete(key: String) -> Bool {
      do { return try agent.get().delete(item(key)) } catch { return false }
    }

    func clear() -> Bool { keys.reduce(true) { delete(key: $1) && $0 } }

    private func item(_ key: String) -> AgentItem { AgentItem(service: account, account: key) }
  }
}

extension TokenProvider {
  static func agent(_ agent: AgentConnection, account: String) -> TokenProvider {
    .custom { try await agent.accessToken(host: "huggingface.co", account: account)?.text() }
  }
}
