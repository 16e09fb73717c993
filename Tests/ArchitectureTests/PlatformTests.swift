import Foundation
import Testing

/// One source for Linux and macOS. This does not show that it compiles on macOS; only that nothing is for Linux alone by
/// oversight.
@Suite struct PlatformTests {
  @Test func `one file tells the C libraries apart for all targets above it, and names all three`() throws {
    let files = try Package.entries(of: Package.sources).flatMap(Package.files(of:))
    let telling = files.filter {
      $0.code.contains { $0.line.contains("canImport(Glibc)") || $0.line.contains("canImport(Musl)") }
    }
    // The second is that of the one target without CofferPlatform.
    #expect(Set(telling.map(\.path)) == ["CofferPlatform/System.swift", "CofferClient/System.swift"])
    for file in telling { #expect(file.imports.map(\.module) == ["CCofferPlatform", "Glibc", "Musl", "Darwin"]) }
    // A file for only one system has a counterpart for the other.
    let forLinux = files.filter { $0.text.hasPrefix("#if !canImport(Darwin)") },
      forMacOS = files.filter { $0.text.hasPrefix("#if canImport(Darwin)") }
    #expect(
      forLinux.map(\.path) == ["CofferPlatform/Inotify.swift"] && forMacOS.map(\.path) == ["CofferPlatform/FolderSource.swift"])
  }
}
