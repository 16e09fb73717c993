import CofferPlatform
import Foundation
import Testing

/// One source for Linux and macOS. Nothing here shows that it compiles on macOS; only that nothing was written for Linux alone by oversight.
@Suite struct PlatformTests {
  @Test func `each use of a system module names macOS's too, and nothing but those uses is for one system`() throws {
    var uses = 0
    let files = try Package.entries(of: Package.sources).flatMap(Package.files(of:))
    for file in files {
      let lines = file.text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
      // An import of one system's library stands in a chain of conditions that names the others', or in a part that is for one system whole.
      let isForLinux = lines.first == "#if !canImport(Darwin)", isForMacOS = lines.first == "#if canImport(Darwin)"
      for (index, line) in lines.enumerated() where line == "#if canImport(Glibc)" {
        uses += 1
        let end = lines[index...].firstIndex(of: "#endif") ?? lines.endIndex
        let chain = lines[index..<end]
        // Code that is for other systems, whichever, is for macOS too.
        guard !chain.contains("#else") else { continue }
        #expect(isForLinux || chain.contains("#elseif canImport(Darwin)"), "\(file.path): no branch for macOS")
        #expect(chain.contains("#elseif canImport(Musl)"), "\(file.path): no branch for Musl")
      }
      let imports = Set(file.imports.map(\.module))
      if imports.contains("Glibc") { #expect(isForLinux || imports.contains("Darwin"), "\(file.path)") }
      if isForMacOS { #expect(!imports.contains("Glibc"), "\(file.path)") }
    }
    #expect(uses > 10)
    // What is for one system as a whole has a counterpart for the other.
    for name in ["Inotify.swift", "FolderSource.swift"] { #expect(files.contains { $0.path.hasSuffix(name) }) }
  }
}
