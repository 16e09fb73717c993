public import Foundation

/// Parts of private keys, each in all forms in which an answer or a memory could hold it.
public struct KeyParts {
  private static let count = 16
  private var parts: [Data] = []
  /// The parts by their first two bytes.
  private var table = [[Int]](repeating: [], count: 1 << 16)

  /// None.
  public init() {}

  /// Adds parts of 16 bytes of the secret half of a key's file, `openssh-key-v1` without a passphrase.
  ///
  /// Source: OpenSSH's PROTOCOL.key.
  public mutating func add(file text: String) {
    let lines = text.split(separator: "\n").filter { !$0.hasPrefix("-") }
    guard let file = Data(base64Encoded: lines.joined()), file.count > 43 else { return }
    // The magic, the names of no cipher, and the number of keys have 39 bytes. Then come the public half, and the section that
    // repeats it, after its length and two check numbers.
    let end = 43 + file[39..<43].reduce(0) { $0 << 8 | Int($1) }
    guard end < file.count else { return }
    let blob = file[43..<end]
    for place in stride(from: end + 12, through: file.count - Self.count, by: Self.count) {
      let part = Data(file[place..<place + Self.count])
      if blob.range(of: part) == nil { add(part) }
    }
  }

  /// Adds `bytes`: plain, in hexadecimal digits, and in Base64 of longer texts.
  public mutating func add(_ bytes: Data) {
    let hex = bytes.map { String(format: "%02x", $0) }.joined()
    for text in [hex, hex.uppercased()] { add(plain: Data(text.utf8)) }
    for skip in 0..<3 {
      let text = Data((Data(count: skip) + bytes).base64EncodedString().utf8)
      add(plain: Data(text[(skip * 8 + 5) / 6..<(skip + bytes.count) * 8 / 6]))
    }
    add(plain: bytes)
  }

  /// Adds `bytes` as they are; at least two.
  public mutating func add(plain bytes: Data) {
    table[Int(bytes[bytes.startIndex]) << 8 | Int(bytes[bytes.startIndex + 1])].append(parts.count)
    parts.append(bytes)
  }

  /// How many places of `memory` hold a part.
  public func matches(in memory: Data) -> Int {
    memory.withUnsafeBytes { (memory: UnsafeRawBufferPointer) in
      var matches = 0, place = 0
      while place + 1 < memory.count {
        for index in table[Int(memory[place]) << 8 | Int(memory[place + 1])] where place + parts[index].count <= memory.count {
          if memory[place..<place + parts[index].count].elementsEqual(parts[index]) { matches += 1 }
        }
        place += 1
      }
      return matches
    }
  }
}
