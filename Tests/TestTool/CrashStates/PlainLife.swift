internal import CofferDefaults
internal import CofferPlatform
internal import CofferStorage
internal import CofferTestSupport
internal import Foundation
internal import SystemPackage

struct PlainLife {
  private let store: DefaultsStore
  private var random: Random
  private static let keys = 6

  init(_ folder: FilePath, _ domain: String, seed: UInt64) throws {
    random = Random(seed: seed)
    store = try DefaultsStore.open(domain: domain, in: folder)
    VaultVerbs.say("is \(try Self.state(of: store))")
  }

  /// The whole store: `k0=17,left=3,right=3`, where a key's value is the number at the start of its text.
  static func state(of store: DefaultsStore) throws -> String {
    try store.names().sorted().map { name in
      guard case .string(let text)? = try store.load(name) else { return "\(name)=?" }
      return "\(name)=\(text.split(separator: " ").first ?? "?")"
    }.joined(separator: ",")
  }

  mutating func live(_ count: Int) throws {
    for _ in 0..<count {
      let value = Int.random(in: 1..<1_000_000, using: &random), key = "k\(Int.random(in: 0..<Self.keys, using: &random))"
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<5: try CrashStateVerbs.change(to: "\(key)=\(value)") { try store.save(Self.form(value), for: key) }
      case 5: try CrashStateVerbs.change(to: "\(key)=") { try store.save(nil, for: key) }
      case 6, 7:
        var batch = Batch<Plain>()
        batch.writes = ["left": .set(Self.form(value)), "right": .set(Self.form(value))]
        try CrashStateVerbs.change(to: "left=\(value),right=\(value)") { try store.commit(batch, decision: nil) }
      default: try keep()
      }
    }
    try store.close()
    VaultVerbs.say("kept")
  }

  private func keep() throws {
    try store.synchronize()
    VaultVerbs.say("kept")
  }

  /// Texts of very different lengths, so that the journal grows and the list has many pages.
  private static func form(_ value: Int) -> PlainForm {
    .string("\(value) " + String(repeating: "x", count: value % 11 == 0 ? 30_000 : value % 50))
  }
}
