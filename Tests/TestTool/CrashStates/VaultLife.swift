internal import CofferMemory
internal import CofferStorage
internal import CofferTestSupport
internal import CofferVault
internal import Foundation
internal import SystemPackage

/// A vault changed by a seed in every way: items, batches, slots, key; and locked at times.
struct VaultLife {
  private let path: FilePath
  private let keyFile: String
  private var random: Random
  private var state = State()

  struct State: CustomStringConvertible {
    var epoch: UInt64 = 1
    var slots = 1
    var items: [Int: Int] = [:]

    /// Without blanks: `epoch=2,slots=1,0=17,3=5`.
    var description: String {
      "epoch=\(epoch),slots=\(slots)" + items.sorted { $0.key < $1.key }.map { ",\($0.key)=\($0.value)" }.joined()
    }

    init() {}

    init(of vault: borrowing UnlockedVault) throws {
      let status = try vault.status()
      (epoch, slots) = (status.epoch, status.slots.count)
      for number in 0..<VaultLife.items {
        guard let text = VaultVerbs.text(try vault.get(VaultLife.name(number))) else { continue }
        items[number] = text.split(separator: " ").first.flatMap { Int($0) } ?? -1
      }
    }
  }

  private static let items = 8
  private static func name(_ number: Int) throws -> ItemName { try ItemName(service: "svc", account: "\(number)") }
  /// Values of very different lengths, so that commits have one page or many.
  private static func form(_ value: Int) throws -> SecretForm {
    SecretForm(try VaultVerbs.secret("\(value) " + String(repeating: "x", count: value % 7 == 0 ? 20_000 : value % 50)))
  }

  init(_ path: FilePath, _ keyFile: String, seed: UInt64) throws {
    self.path = path
    self.keyFile = keyFile
    random = Random(seed: seed)
  }

  /// Makes about `count` changes, over the seed's number of openings.
  mutating func live(_ count: Int) throws {
    var left = count
    while left > 0 {
      let vault = try open()
      state = try State(of: vault)
      VaultVerbs.say("is \(state)")
      for _ in 0..<Int.random(in: 1...16, using: &random) where left > 0 {
        try change(vault)
        left -= 1
      }
      _ = try vault.lock()
      VaultVerbs.say("kept")
    }
  }

  private func open() throws -> UnlockedVault {
    if FileManager.default.fileExists(atPath: path.string) { return try VaultVerbs.unlock(path, keyFile) }
    VaultVerbs.say("begin \(State())")
    return try UnlockedVault.create(
      at: .file(path), with: VaultVerbs.credentials(keyFile), cost: .testing, options: VaultVerbs.options)
  }

  private mutating func change(_ vault: borrowing UnlockedVault) throws {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<50: try set([.random(in: 0..<Self.items, using: &random)], vault)
    case 50..<60: try set([0, 3, 5].shuffled(using: &random), vault)
    case 60..<72: try remove(.random(in: 0..<Self.items, using: &random), vault)
    case 72..<79: try move(vault)
    case 79..<87 where state.slots < 6: try addSlot(vault)
    case 79..<92 where state.slots > 1: try removeSlot(vault)
    default:
      state.epoch += 1
      try CrashStateVerbs.change(to: "\(state)") { try vault.rotate() }
      VaultVerbs.say("kept")
    }
  }

  private mutating func set(_ numbers: [Int], _ vault: borrowing UnlockedVault) throws {
    let value = Int.random(in: 1..<1_000_000, using: &random)
    for number in numbers { state.items[number] = value }
    try CrashStateVerbs.change(to: "\(state)") {
      try vault.apply(numbers.map { .set(try Self.form(value), for: try Self.name($0)) })
    }
  }

  private mutating func remove(_ number: Int, _ vault: borrowing UnlockedVault) throws {
    state.items[number] = nil
    try CrashStateVerbs.change(to: "\(state)") { try vault.remove(Self.name(number)) }
  }

  private mutating func move(_ vault: borrowing UnlockedVault) throws {
    let free = (0..<Self.items).first { state.items[$0] == nil }
    guard let from = state.items.keys.sorted().first, let to = free else { return }
    state.items[to] = state.items.removeValue(forKey: from)
    try CrashStateVerbs.change(to: "\(state)") { try vault.apply([.move(Self.name(from), to: Self.name(to))]) }
  }

  private mutating func addSlot(_ vault: borrowing UnlockedVault) throws {
    state.slots += 1
    try CrashStateVerbs.change(to: "\(state)") {
      var credentials = Credentials()
      credentials.recoveryCode = try RecoveryCode.generate()
      try vault.addSlot(credentials, label: "code")
    }
  }

  /// This also gives the vault a new key.
  private mutating func removeSlot(_ vault: borrowing UnlockedVault) throws {
    guard let slot = try vault.slots().first(where: { !$0.isInUse }) else { return }
    state.slots -= 1
    state.epoch += 1
    try CrashStateVerbs.change(to: "\(state)") { try vault.removeSlot(slot.summary.id) }
    VaultVerbs.say("kept")
  }
}
