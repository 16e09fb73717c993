internal import CofferMemory
internal import CofferPlatform
package import CofferStorage

extension PercentEncoding {
  /// Decodes within guarded memory; nil for a `%` without two digits, or for an empty result.
  package static func secret(_ raw: UnsafeRawBufferPointer.SubSequence) throws -> SecretForm? {
    guard !raw.isEmpty, isSound(raw) else { return nil }
    return SecretForm(
      try SecretBytes.written { put in
        var rest = raw
        while let byte = rest.popFirst() {
          guard byte == UInt8(ascii: "%") else {
            put(byte)
            continue
          }
          put(rest.prefix(2).reduce(0) { $0 << 4 | (digit($1) ?? 0) })
          rest = rest.dropFirst(2)
        }
      })
  }

  private static func isSound(_ raw: UnsafeRawBufferPointer.SubSequence) -> Bool {
    raw.indices.allSatisfy { index in
      guard raw[index] == UInt8(ascii: "%") else { return true }
      return raw[(index + 1)...].prefix(2).count { digit($0) != nil } == 2
    }
  }
}
