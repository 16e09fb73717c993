internal import CofferPlatform
internal import Foundation

/// A program's connection to an agent of SSH.
final class KeySocket {
  private let descriptor: Int32
  private var buffer = [UInt8](repeating: 0, count: 256 * 1024)

  /// Waits for an agent that is starting.
  init(_ path: String) throws {
    let end = Clock.wall.now + 5e6
    var made = coffer_local_connect(path, 1000)
    while made < 0, Clock.wall.now < end {
      usleep(10_000)
      made = coffer_local_connect(path, 1000)
    }
    guard made >= 0, fcntl(made, F_SETFL, 0) == 0 else { throw Shell.Failed(line: "connect to \(path)") }
    descriptor = made
  }

  deinit { close(descriptor) }

  /// The answer, without its length.
  func ask(_ request: [UInt8]) throws -> ArraySlice<UInt8> {
    guard write(descriptor, request, request.count) == request.count else { throw Shell.Failed(line: "ask an agent") }
    var count = 0, length = 4
    while count < length {
      let more = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress?.advanced(by: count), $0.count - count) }
      guard more > 0 else { throw Shell.Failed(line: "an agent's answer") }
      count += more
      if count >= 4 { length = 4 + buffer[..<4].reduce(0) { $0 << 8 | Int($1) } }
    }
    return buffer[4..<length]
  }

  static func number(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.bigEndian) { Array($0) } }
  static func string(_ bytes: [UInt8]) -> [UInt8] { number(UInt32(bytes.count)) + bytes }
}
