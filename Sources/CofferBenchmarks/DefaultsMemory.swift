internal import Coffer
internal import CofferDefaults
internal import CofferStorage
internal import Foundation
internal import SystemPackage

/// The memory of a large domain, measured in a process that does nothing else.
enum DefaultsMemory {
  private static let count = 100_000

  static func measure(in folder: FilePath) throws {
    let names = DefaultsBenchmark.names(count)
    try DefaultsBenchmark.domain("memory", in: folder, names) { .integer(Int64($0)) }.close()
    let process = Process(), output = Pipe()
    process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = ["memory", folder.string]
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    print("\nmemory at \(count) keys of \(names[count / 2].utf8.count) bytes with a number each")
    print(text, terminator: "")
  }

  /// Opens the domain and prints its memory beyond the keys' and values' own bytes.
  static func report(_ folder: String) throws {
    let before = try anonymousBytes()
    let store = try DefaultsBenchmark.separate("memory", in: FilePath(folder))
    giveBackFreeMemory()
    let taken = try anonymousBytes() - before
    let content = DefaultsBenchmark.names(count).reduce(0) { $0 + $1.utf8.count + 8 }
    let each = Double(taken - content) / Double(count)
    use(try store.load("com.example.key.1"))
    print(
      "  \(Measure.padded("beyond key and value")) \(Measure.number(each)) B a key   ≤ 200 B\(each <= 200 ? "" : "  ✗ missed")")
  }

  /// Memory that reading the list freed, but did not return, is not the store's (glibc's malloc_trim(3), which Swift does not
  /// import).
  private static func giveBackFreeMemory() {
    typealias Trim = @convention(c) (Int) -> Int32
    if let trim = dlsym(nil, "malloc_trim") { _ = unsafeBitCast(trim, to: Trim.self)(0) }
  }

  private static func anonymousBytes() throws -> Int {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
    return (line?.split(separator: " ").dropLast().last.flatMap { Int($0) } ?? 0) * 1024
  }
}
