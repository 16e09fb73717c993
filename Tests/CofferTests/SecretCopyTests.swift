import Coffer
import CofferMemory
import CofferTestSupport
import Foundation
import Testing

/// Counts copies of a secret between its owner and the file. Each must be held and wiped.
@Suite struct SecretCopyTests {
  struct Token: Codable, Sendable, Equatable {
    var access: String
    var ends: Date
  }

  struct Keys: KeySpace {
    let plain = StorageKey("plain", secret: Token.self)
    let session = StorageKey("session", secret: Token.self).expires { $0.ends }.endsWithSession()
  }

  /// Larger than a slab's block, so that each copy is a separate region.
  private static let token = Token(access: String(repeating: "t", count: 20_000), ends: Date(timeIntervalSinceNow: 3600))

  private static func regions(_ body: () throws -> Void) rethrows -> Int {
    let before = SecretMemory.regionsMade
    try body()
    return SecretMemory.regionsMade - before
  }

  @Test(.tags(.process), .defaultRun)
  func `a secret is copied into guarded memory twice on its way down, and once on its way up`() async {
    // In a separate process: others take guarded memory meanwhile.
    await #expect(processExitsWith: .success) {
      try OpenTests().withPlaces { places in
        let vault = try UnlockedVault.create(
          at: places.vault, with: OpenTests.credentials(), cost: .testing, options: places.vaultOptions)
        let keys = Keys()
        let app = try StorageRouter.open("com.example.app", keys: keys, vault: vault, places: places)
        try app.set(Sealed(Token(access: "a", ends: Self.token.ends)), for: keys.session)
        _ = try app.value(for: keys.session)
        for key in [keys.plain, keys.session] {
          let down = try Self.regions { try app.set(Sealed(Self.token), for: key) }
          #expect(down == 2, "\(key.name): encoded, and padded to be sealed")
          var read: Sealed<Token>?
          let up = try Self.regions { read = try app.value(for: key) }
          #expect(up == 1, "\(key.name)")
          #expect(try read?.reveal() == Self.token)
        }
        let expires = try #require(try app.value(for: keys.session)?.expires)
        #expect(abs(expires.timeIntervalSince(Self.token.ends)) < 0.001)
      }
    }
  }
}
