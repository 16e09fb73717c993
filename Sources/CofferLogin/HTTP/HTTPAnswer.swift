internal import CofferMemory

/// A server's answer: a status, and bytes in guarded memory, because they may hold tokens.
struct HTTPAnswer: ~Copyable {
  let status: Int
  let body: SecretBytes
}

final class IncomingBody {
  /// Most bytes of an answer. A token with many claims has some kilobytes; a server could send without end.
  static let largest = 1 << 18

  private var buffer: SecretBytes
  private var count = 0
  private(set) var isTooLarge = false
  private(set) var hasFailed = false

  init() throws(SecretMemoryError) { buffer = try SecretBytes(zeros: 1 << 12) }

  /// False if there is no room.
  func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard count + bytes.count <= Self.largest else {
      isTooLarge = true
      return false
    }
    do throws(SecretMemoryError) {
      while count + bytes.count > buffer.count { try grow() }
    } catch {
      hasFailed = true
      return false
    }
    buffer.withUnsafeMutableBytes { out in
      UnsafeMutableRawBufferPointer(rebasing: out[count..<count + bytes.count]).copyMemory(from: bytes)
    }
    count += bytes.count
    return true
  }

  private func grow() throws(SecretMemoryError) {
    var larger = try SecretBytes(zeros: buffer.count * 2)
    larger.withUnsafeMutableBytes { out in buffer.withUnsafeBytes { out.copyMemory(from: $0) } }
    buffer = larger
  }

  func bytes() throws(SecretMemoryError) -> SecretBytes { try buffer.prefix(count) }
}
