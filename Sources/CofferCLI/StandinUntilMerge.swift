// Delete this file at the merge: KeyFile comes from CofferVault.
internal import CCofferSodium
internal import Coffer

enum KeyFile {
  static func generate() throws(StoreError) -> SecretBytes {
    do throws(SecretMemoryError) {
      let key = try SecretBytes.random(32)
      var check = [UInt8](repeating: 0, count: 32)
      key.withUnsafeBytes { _ = crypto_generichash(&check, 32, $0.baseAddress, 32, nil, 0) }
      var content = try SecretBytes(zeros: 80)
      content.withUnsafeMutableBytes { out in
        key.withUnsafeBytes { key in
          let digits = Array("0123456789abcdef".utf8)
          out.copyBytes(from: Array("PVKEY1-".utf8))
          for (index, byte) in (Array(key) + check[..<4]).enumerated() {
            out[7 + 2 * index] = digits[Int(byte >> 4)]
            out[8 + 2 * index] = digits[Int(byte & 15)]
          }
          out[79] = UInt8(ascii: "\n")
        }
      }
      return content
    } catch { throw StoreError(memory: error) }
  }
}
