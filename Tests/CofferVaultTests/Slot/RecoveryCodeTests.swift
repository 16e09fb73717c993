import CofferTestSupport
import CofferMemory
import CofferPlatform
import CofferStorage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

@Suite struct RecoveryCodeTests {
  func read(_ text: String) throws -> [UInt8] { try RecoveryCode.bytes(of: SecretBytes(text)).revealed }

  @Test func `codes read back to their bytes`() throws {
    for _ in 0..<50 {
      let bytes = try SecretBytes.random(20).revealed
      let text = String(decoding: try RecoveryCode.text(of: SecretBytes(bytes)).revealed, as: UTF8.self)
      #expect(text.count == 34 + 8)
      #expect(try read(text) == bytes)
      #expect(try read(text.lowercased()) == bytes)
      #expect(try read(text.replacing("-", with: " ")) == bytes)
      #expect(try read("-" + text.replacing("-", with: "") + " ") == bytes)
      #expect(try read(text.replacing("1", with: "I").replacing("0", with: "o")) == bytes)
      #expect(try read(text.replacing("1", with: "l")) == bytes)
    }
  }

  @Test func `the first symbol is the first five bits`() throws {
    let bytes: [UInt8] = [0b11111_000, 0b01_00010_0] + [UInt8](repeating: 0, count: 18)
    let text = String(decoding: try RecoveryCode.text(of: SecretBytes(bytes)).revealed, as: UTF8.self)
    #expect(text.hasPrefix("Z120-"))
  }

  @Test func `every wrong symbol of a code is noticed, but for one in a thousand`() throws {
    let bytes = try SecretBytes.random(20).revealed
    let code = Array(try RecoveryCode.text(of: SecretBytes(bytes)).revealed.filter { $0 != UInt8(ascii: "-") })
    var unnoticed = 0
    for place in code.indices {
      for symbol in "0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8 where symbol != code[place] {
        var wrong = code
        wrong[place] = symbol
        if (try? RecoveryCode.bytes(of: SecretBytes(wrong)).count) != nil { unnoticed += 1 }
      }
    }
    #expect(unnoticed <= 12)  // About one of the 1 054 is expected.
  }

  @Test func `what is no code is a wrong secret`() throws {
    let code = String(decoding: try RecoveryCode.generate().revealed, as: UTF8.self)
    let wrong = [
      "", String(code.dropLast()), code + "0", "U" + code.dropFirst(), "*" + code.dropFirst(), "é" + code.dropFirst(),
      String(repeating: "-", count: 300) + code,
    ]
    for text in wrong {
      let error = #expect(throws: StoreError.self) { try read(text) }
      #expect(error?.kind == .wrongSecret)
      #expect(error.map { "\($0)".contains(code) } == false)
    }
  }
}
