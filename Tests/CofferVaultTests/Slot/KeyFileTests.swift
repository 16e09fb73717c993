import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat
@testable import CofferVaultRows

@Suite struct KeyFileTests {
  func kind(_ content: [UInt8]) -> StoreError.Kind? {
    do throws(StoreError) {
      _ = try KeyFile(content: try made(content))
      return nil
    } catch { return error.kind }
  }

  private func made(_ content: [UInt8]) throws(StoreError) -> SecretBytes {
    do { return try SecretBytes(content) } catch { throw StoreError(.memory, "no memory", cure: "none") }
  }

  @Test func `a generated file reads back to one key, with or without its line feed`() throws {
    let text = try KeyFile.generate().revealed
    #expect(text.count == 80 && text.last == 10)
    #expect(String(decoding: text, as: UTF8.self).hasPrefix("PVKEY1-"))
    let file = try KeyFile(content: SecretBytes(text))
    let cut = try KeyFile(content: SecretBytes(Array(text.dropLast())))
    let areGenerated = file.isGenerated && cut.isGenerated
    #expect(areGenerated)
    #expect(file.key.revealed == cut.key.revealed)
    let digits = HexBytes.decode(String(decoding: text[7..<71], as: UTF8.self))
    #expect(file.key.revealed == digits)
    #expect(try KeyFile.generate().revealed != text)
  }

  @Test func `whatever begins like a generated file and is none is damaged`() throws {
    let text = try KeyFile.generate().revealed
    for place in 7..<79 {
      var changed = text
      changed[place] = changed[place] == UInt8(ascii: "0") ? UInt8(ascii: "1") : UInt8(ascii: "0")
      #expect(kind(changed) == .damaged, "digit \(place)")
    }
    for count in 7..<79 { #expect(kind(Array(text.prefix(count))) == .damaged) }
    for more in [[10], [13, 10], [32]] as [[UInt8]] { #expect(kind(text + more) == .damaged) }
    let upper = Array(String(decoding: text, as: UTF8.self).uppercased().utf8)
    if upper != text { #expect(kind(upper) == .damaged) }
    #expect(kind(Array(text.dropLast()) + [13]) == .damaged)
  }

  @Test func `any other file of 32 bytes to 1 MiB stands for its digest`() throws {
    for count in [32, 79, 80, 1024 * 1024] {
      let content = [UInt8](repeating: 0x41, count: count)
      let file = try KeyFile(content: SecretBytes(content))
      let isGenerated = file.isGenerated
      #expect(!isGenerated)
      #expect(file.key.revealed == PlainHash.digest(content).bytes)
    }
    #expect(kind([UInt8](repeating: 0x41, count: 31)) == .unfitSecret)
    #expect(kind([]) == .unfitSecret)
    #expect(kind([UInt8](repeating: 0x41, count: 1024 * 1024 + 1)) == .tooLarge(limit: 1024 * 1024))
  }

  @Test func `a file that says that it has as many bytes as can be told is larger than a key file`() throws {
    guard access("/dev/shm", W_OK) == 0 else { try Test.skip("there is no /dev/shm") }
    let path = FilePath("/dev/shm/coffer-key-\(UUID().uuidString)")
    let file = try FileDescriptor.open(path, .readWrite, options: [.create, .exclusiveCreate], permissions: .ownerReadWrite)
    defer { unlink(path.string) }
    let size = try file.closeAfter { ftruncate(file.rawValue, off_t.max) }
    guard size == 0 else { try Test.skip("/dev/shm takes no file of that size") }
    do throws(StoreError) {
      _ = try SecretFile.content(of: path, limit: SecretFile.largestKey, what: "the key file")
      Issue.record("it was read")
    } catch { #expect(error.kind == .tooLarge(limit: SecretFile.largestKey)) }
  }
}
