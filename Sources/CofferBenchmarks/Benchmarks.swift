internal import Foundation
internal import Logging

/// `CofferBenchmarks [vault|defaults|values|cli|secret-service|shared|keys]…`, or `sync [ITEMS…]`: every table prints
/// medians, and ratios to a peer measured in the same run.
@main
enum Benchmarks {
  static func main() throws {
    // The log that a machine sees a vault for the first time is no news here.
    LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
    let wanted = CommandLine.arguments.dropFirst()
    if let domains = wanted.first, wanted.count == 2, domains == "memory" { return try DefaultsMemory.report(wanted[2]) }
    if wanted.first == "shared-writer" { return try SharedVaultBenchmark.write(Array(wanted.dropFirst())) }
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("coffer-bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    defer {
      do { try FileManager.default.removeItem(at: folder) } catch { print("left behind: \(folder.path): \(error)") }
    }
    let path = folder.resolvingSymlinksInPath().path
    let tables = VaultBenchmark.tables.filter { wanted.isEmpty || wanted.contains("vault") || wanted.contains($0) }
    try VaultBenchmark.run(in: path, Set(tables))
    if wanted.isEmpty || wanted.contains("defaults") { try DefaultsBenchmark.run(in: path) }
    if wanted.isEmpty || wanted.contains("values") { try ValuesBenchmark.run(in: path) }
    if wanted.contains("cli") { try CommandLineBenchmark.run(in: path) }
    if wanted.contains("shared") { try SharedVaultBenchmark.run(in: path) }
    if wanted.contains("keys") { try KeysBenchmark.run(in: path) }
    if wanted.contains("sync") { try SyncBenchmark.run(in: path, wanted.compactMap { Int($0) }) }
    if wanted.contains("secret-service") { try SecretServiceBenchmark.run(in: path) }
  }
}
