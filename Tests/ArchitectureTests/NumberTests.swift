import Foundation
import Testing

/// An unchecked sum of a number from a vault's file would end the process. `ByteReader` returns eight bytes only as
/// `FileCounter`, and these tests close the ways around it.
@Suite struct NumberTests {
  private func vaultFiles() throws -> [SourceFile] {
    try Package.files(of: "CofferVault").filter { !$0.path.hasSuffix("Bytes/FileCounter.swift") }
  }

  /// Other readers of eight bytes: bounded on the spot, or only compared.
  static let readers: Set<String> = [
    "CofferVaultFormat/Bytes/ByteReader.swift", "CofferVaultRows/Rows/StoredParts.swift",
    "CofferVaultRows/SQLite/VaultDatabase+Records.swift",
    "CofferVaultFormat/Bytes/Blocks.swift", "CofferVaultFormat/Format/VaultState.swift",
  ]

  @Test func `numbers of eight bytes are read where they are checked`() throws {
    let reading = /U?Int(64)?\((littleEndian|bigEndian):/
    for file in try vaultFiles() where !Self.readers.contains(file.path) && file.text.contains("Endian:") {
      for (number, line) in file.code where line.contains(reading) {
        Issue.record("Sources/\(file.path):\(number): read it with ByteReader.counter: \(line)")
      }
    }
  }

  @Test func `a counter goes on to its next number through FileCounter`() throws {
    let sum =
      /(generation|revision|epoch|records|logSequence|statedGeneration\(\)|knownGeneration\(\))\)?( \?\? \w+\)?)? ?\+ 1\b/
    for file in try vaultFiles() where file.text.contains("+ 1") {
      // A checked state's place in the log, plus one row.
      for (number, line) in file.code where line.contains(sum) && !line.contains("Int(clamping: view.state.logSequence + 1") {
        Issue.record("Sources/\(file.path):\(number): use FileCounter.next: \(line)")
      }
    }
    #expect("next.generation = max(state.generation + 1, x)".contains(sum) && "(old?.revision ?? 0) + 1".contains(sum))
  }
}
