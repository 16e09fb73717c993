internal import Coffer
internal import CofferValues
internal import Foundation
internal import SystemPackage

/// Begins and ends observations one by one, with no other alive, and counts leftovers in this process.
struct Churn {
  private final class Owner: Sendable {}
  private let app: StorageRouter
  private let session: Session<String>
  private let keys = SessionKeys()

  init(_ home: FilePath) throws {
    let places = Places(home: home)
    let bytes = try Data(contentsOf: URL(fileURLWithPath: home.appending("key").string))
    let key = try bytes.bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
    let vault = try places.openVault().unlock(with: Credentials(keyFile: key))
    app = try StorageRouter.open("app", keys: keys, vault: vault, places: places, overrides: .none)
    session = try app.session(user: keys.user, credential: keys.token)
  }

  func run(times count: Int) async throws {
    let owner = Owner()
    let ways: [(String, Int, () async throws -> Void)] = [
      ("router", count, { try app.observe(keys.theme, owner: owner) { _ in }() }),
      ("sequence", count, { _ = try app.changes(of: keys.theme) }),
      ("first element", count, { for await _ in try app.changes(of: keys.theme) { break } }),
      ("subject", count, { try app.persistedValue(for: keys.theme).subject().observe(owner) { _ in }() }),
      // Each scans the vault once.
      ("session", count / 10, { try session.observe(owner) { _ in }() }),
    ]
    for (name, times, way) in ways {
      for _ in 0..<10 { try await way() }
      let before = (try Self.descriptors(), try Self.threads(), try Self.resident())
      let start = ContinuousClock.now
      for _ in 0..<times { try await way() }
      let time = (ContinuousClock.now - start) / max(1, times)
      let after = (try Self.descriptors(), try Self.threads(), try Self.resident())
      print(
        "\(name): \(times) times, \(after.0 - before.0) more descriptors, \(after.1 - before.1) more threads,",
        "\(after.2 - before.2) KiB, \(time) each")
    }
    print("inotify: \(try Self.inotifyDescriptors())")
  }

  func beginWithoutDescriptors() throws {
    let owner = Owner()
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    let former = limit.rlim_cur
    limit.rlim_cur = 3
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    for _ in 0..<3 {
      do {
        try app.observe(keys.theme, owner: owner) { _ in print("called") }
        print("began")
      } catch { print("refused: \(error)") }
    }
    limit.rlim_cur = former
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    let heard = DispatchSemaphore(value: 0)
    try app.observe(keys.theme, owner: owner) { value in
      if case .success("dark") = value { heard.signal() }
    }
    try app.set("dark", for: keys.theme)
    heard.wait()
    print("heard")
  }

  private static func descriptors() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count }
  private static func threads() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count }

  private static func inotifyDescriptors() throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count { name in
      var buffer = [UInt8](repeating: 0, count: 256)
      let length = readlink("/proc/self/fd/" + name, &buffer, buffer.count)
      return length > 0 && String(decoding: buffer.prefix(length), as: UTF8.self) == "anon_inode:inotify"
    }
  }

  private static func resident() throws -> Int {
    let text = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = text.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
    return Int(line?.split(separator: " ").dropFirst().first ?? "") ?? 0
  }
}
