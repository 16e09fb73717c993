import Coffer
import CofferTestSupport
import Foundation
import Testing

@testable import CofferFormats
@testable import CofferTerminal

struct QRCodeTests {
  private static let isInstalled = dlopen("libqrencode.so.4", RTLD_NOW) != nil

  private func code(_ text: String) throws -> QRCode {
    if !Self.isInstalled { try Test.skip(without: "libqrencode") }
    return try QRCode(Home.secret(text))
  }

  private func lines(_ text: String, columns: Int, rows: Int) throws -> [String] {
    try code(text).text(columns: columns, rows: rows).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
      .components(separatedBy: "\u{1B}[K").dropLast().map { $0.replacing(/\u{1B}\[[0-9;]*[mH]/, with: "") }
  }

  @Test func `a code has its corners within a light margin, and a narrower one on a small screen`() throws {
    for (columns, rows, margin) in [(29, 15, 4), (28, 24, 2), (80, 14, 2), (25, 13, 2)] {
      let lines = try lines("hello", columns: columns, rows: rows)
      let blanks = String(repeating: " ", count: margin)
      #expect(lines.count == (21 + 2 * margin + 1) / 2 && lines.allSatisfy { $0.count == 21 + 2 * margin })
      #expect(lines.prefix(margin / 2).allSatisfy { $0.allSatisfy { $0 == " " } })
      #expect(lines.allSatisfy { $0.hasPrefix(blanks) && $0.hasSuffix(blanks) })
      let corner = ["█▀▀▀▀▀█", "█ ███ █", "█ ▀▀▀ █", "▀▀▀▀▀▀▀"]
      for (line, part) in zip(lines.dropFirst(margin / 2), corner) {
        #expect(line.hasPrefix(blanks + part) && line.hasSuffix(part + blanks), "\(line)")
      }
      for (line, part) in zip(lines.dropFirst(margin / 2 + 7), corner) { #expect(line.hasPrefix(blanks + part), "\(line)") }
    }
  }

  @Test func `a code that does not fit, an empty value and one that is too long are refused`() throws {
    for (columns, rows) in [(24, 100), (100, 12)] {
      #expect(throws: Failure.self) { try lines("hello", columns: columns, rows: rows) }
    }
    for text in ["", String(repeating: "x", count: 2954)] { #expect(throws: Failure.self) { _ = try code(text) } }
    _ = try code(String(repeating: "x", count: 2953))
  }
}
