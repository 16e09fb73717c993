import CofferMemory
import CofferPlatform
import CofferStorage
import Foundation
import Testing

enum Theme: String, PlainValue { case light, dark }
enum Size: Int, Codable, PlainValue { case small = 1, large }

struct Window: Codable, PlainValue, Equatable {
  var width = 800
  var title: String?
  var opened = Date(timeIntervalSince1970: 1_700_000_000)
  var icon = Data([1, 2])
  var home = URL(filePath: "/srv/app/")
  var panes = [Pane()]
  var notes = ["a": 1.5]

  struct Pane: Codable, Equatable {
    var isOpen = true
    var ratio: Float = 0.1
    var limit = UInt64.max
  }
}

struct AuthToken: Codable, Sendable, Equatable {
  var access = "hush"
  var expiry: Date?
}

struct Stubborn: Codable, PlainValue, Equatable {
  var fails = false

  func encode(to encoder: any Encoder) throws {
    if fails { throw EncodingError.invalidValue("the-value-itself", .init(codingPath: [], debugDescription: "the-value-itself")) }
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(fails, forKey: .fails)
  }
}

struct AppKeys: KeySpace {
  let theme = StorageKey("theme", default: Theme.light)
  let size = StorageKey("size", default: Size.small)
  let launches = StorageKey("launches", default: 0)
  let nickname = StorageKey("nickname", of: String.self)
  let window = StorageKey("window", default: Window())
  let recent = StorageKey("recent", default: [String]())
  let stubborn = StorageKey("stubborn", default: Stubborn())
  let short = StorageKey("short", default: "").limited(toBytes: 4)
  let lenient = StorageKey("lenient", default: 7).whenUndecodable(.useDefault) { Failures.shared.add($0) }
  let token = StorageKey("token", secret: AuthToken.self).expires { $0.expiry }.labelled("API token").endsWithSession()
  let pin = StorageKey("pin", secret: String.self).limited(toBytes: 4)
  let userID = StorageKey("user_id", vaulted: String.self)
  let count = StorageKey("count", vaulted: Int.self)
}

final class Failures: @unchecked Sendable {
  static let shared = Failures()
  private let lock = NSLock()
  private var errors: [StoreError] = []
  func add(_ error: StoreError) { lock.withLock { errors.append(error) } }
  var all: [StoreError] { lock.withLock { errors } }
}

struct Bench {
  let keys = AppKeys()
  let plain = MemoryStore<Plain>()
  let vault = MemoryStore<Vault>()
  let app: StorageRouter

  init() throws { app = try StorageRouter(plain: plain, vault: vault, keys: keys) }
}

extension StoreError.Kind {
  var isUndecodable: Bool { if case .undecodable = self { true } else { false } }
}

func expectValues<A: Equatable, B: Equatable>(
  _ values: (A, B), _ first: A, _ second: B, at location: SourceLocation = #_sourceLocation
) {
  #expect(values.0 == first, sourceLocation: location)
  #expect(values.1 == second, sourceLocation: location)
}
