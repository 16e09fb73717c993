import Coffer
import Dispatch
import Foundation
import Testing

@Suite struct BlockingTests {
  private let stores = DispatchQueue(label: "com.example.app.stores")

  func stored<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      stores.async { continuation.resume(with: Result { try body() }) }
    }
  }

  private static func article(_ name: String) throws -> String {
    let path = #filePath.replacing("Tests/CofferTests/BlockingTests.swift", with: "Sources/Coffer/Coffer.docc/\(name).md")
    return try String(contentsOfFile: path, encoding: .utf8)
  }

  private static func lines(of text: String) -> [String] {
    text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
  }

  @Test func `the article's code is this file's`() throws {
    let block = try #require(
      Self.article("Blocking").components(separatedBy: "```swift\n").last?.components(separatedBy: "```").first)
    let source = Self.lines(of: try String(contentsOfFile: #filePath, encoding: .utf8))
    for line in Self.lines(of: block) where !line.hasPrefix("let stores") { #expect(source.contains(line), "\(line)") }
    #expect(try Self.article("Coffer").contains("<doc:Blocking>"))
  }

  @Test func `while the writers' lock is held elsewhere, reads, secrets and observers go on, and a write waits for it`()
    async throws
  {
    let home = try SessionHome(), keys = home.keys
    let (app, _) = try home.open()
    try await app.set("dark", for: keys.theme)
    let descriptor = open(home.places.defaults.appending(".app.plist.coffer").string, O_RDWR | O_CLOEXEC)
    #expect(descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) == 0)
    #expect(try app.value(for: keys.theme) == "dark")
    try await app.set(Sealed("secret"), for: keys.device)
    await #expect(try app.value(for: keys.device)?.reveal() == "secret")
    let owner = Counter(), seen = Counter()
    try app.observe(keys.theme, owner: owner) { _ in seen.next() }
    #expect(seen.value == 1)
    async let write: Void = stored {
      try app.set("light", for: keys.theme)
    }
    #expect(try app.value(for: keys.theme) == "dark")
    flock(descriptor, LOCK_UN)
    try await write
    #expect(try app.value(for: keys.theme) == "light")
    close(descriptor)
    try await stored { try app.set("dark", for: keys.theme) }
  }
}
