internal import Coffer
internal import Foundation

/// `CofferBenchmarks [vault|TABLE]…`: every table prints medians and ratios to a peer measured in the same run.
@main
enum Benchmarks {
  static func main() throws {
    let asked = Set(CommandLine.arguments.dropFirst())
    let wanted = asked.isEmpty || asked.contains("vault") ? Set(VaultBenchmark.tables) : asked
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("coffer-bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    defer {
      do { try FileManager.default.removeItem(at: folder) } catch { print("left behind: \(folder.path): \(error)") }
    }
    let path = folder.resolvingSymlinksInPath().path
    if !wanted.isDisjoint(with: VaultBenchmark.tables) { try VaultBenchmark.run(in: path, wanted) }
  }
}
