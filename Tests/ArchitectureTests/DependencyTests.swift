import CofferTestSupport
import Foundation
import Testing

@Suite(.serialized, .tags(.process), .wholeRun)
struct DependencyTests {
  private static let manifest = """
    // swift-tools-version: 6.2
    import PackageDescription
    let package = Package(
      name: "app",
      dependencies: [.package(path: "PATH"TRAITS)],
      targets: [.target(name: "app", dependencies: [.product(name: "Coffer", package: "IDENTITY")])])
    """

  /// The packages that SwiftPM fetches for a package that depends on this one with `traits`; skips the test if none is
  /// reachable.
  private func fetched(_ traits: String) throws -> [String] {
    let folder = FileManager.default.temporaryDirectory.appending(path: "coffer-dependency-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    try FileManager.default.createDirectory(at: folder.appending(path: "Sources/app"), withIntermediateDirectories: true)
    let root = Package.root.standardizedFileURL.path().trimmingSuffix("/")
    let text = Self.manifest.replacingOccurrences(of: "PATH", with: root).replacingOccurrences(of: "TRAITS", with: traits)
      .replacingOccurrences(of: "IDENTITY", with: URL(filePath: root).lastPathComponent)
    try Data(text.utf8).write(to: folder.appending(path: "Package.swift"))
    try Data("import Coffer".utf8).write(to: folder.appending(path: "Sources/app/App.swift"))
    let process = Process(), output = Pipe()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["swift", "package", "--package-path", folder.path(), "resolve"]
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let said = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    if process.terminationStatus != 0, said.contains("clone") || said.contains("fetch") || said.contains("resolve host") {
      try Test.skip("the packages cannot be fetched here")
    }
    try #require(process.terminationStatus == 0, "\(said)")
    let resolved = try JSONSerialization.jsonObject(with: Data(contentsOf: folder.appending(path: "Package.resolved")))
    let pins = (resolved as? [String: Any])?["pins"] as? [[String: Any]]
    return try #require(pins).compactMap { $0["identity"] as? String }.sorted()
  }

  @Test func `a package that leaves out the command line fetches nothing that only the command line needs`() throws {
    let without = try fetched(", traits: []")
    let with = try fetched("")
    #expect(without == ["swift-log", "swift-system"])
    #expect(with == ["swift-argument-parser", "swift-log", "swift-system"])
    let configured = try fetched(", traits: [\"Configuration\"]")
    #expect(configured.contains("swift-configuration") && !configured.contains("swift-argument-parser"))
    let served = try fetched(", traits: [\"Services\"]")
    #expect(served.filter { ["swift-distributed-tracing", "swift-metrics", "swift-service-lifecycle"].contains($0) }.count == 3)
    #expect(!served.contains("swift-configuration"))
  }
}

extension String {
  fileprivate func trimmingSuffix(_ suffix: String) -> String { hasSuffix(suffix) ? String(dropLast(suffix.count)) : self }
}
