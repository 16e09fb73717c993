internal import Coffer
internal import CofferMemory
internal import CofferPlatform
internal import CofferTerminal
internal import SystemPackage

struct PipeContent: ~Copyable {
  private let pipe: Pipe
  private let limit: Int
  private let what: String
  private var buffer: SecretBytes
  private var count = 0
  private var isWhole = false

  private static let firstGuess = 4096

  /// - Parameters:
  ///   - limit: bytes, at most.
  ///   - what: the content, for an error.
  init(_ pipe: Pipe, limit: Int, what: String) throws {
    (self.pipe, self.limit, self.what) = (pipe, limit, what)
    buffer = try SecretBytes(zeros: min(limit + 1, Self.firstGuess))
  }

  /// Reads two pipes to their ends, each as it fills: a program that waits for room in one of them ends neither.
  ///
  /// - Throws: `.tooLarge` once one of them exceeds its limit; `.io` if one cannot be read.
  static func fill(_ first: inout PipeContent, _ second: inout PipeContent) throws {
    while !first.isWhole || !second.isWhole {
      var ends = [first.waiting, second.waiting]
      guard poll(&ends, 2, -1) >= 0 || errno == EINTR else { throw StoreError(errno: errno, "wait for a program", place: "pipe") }
      if ends[0].revents != 0 { try first.take() }
      if ends[1].revents != 0 { try second.take() }
    }
  }

  func bytes() throws -> SecretBytes { try buffer.prefix(count) }

  /// The request for poll(2), which ignores negative descriptors.
  private var waiting: pollfd { pollfd(fd: isWhole ? -1 : pipe.reading, events: Int16(POLLIN), revents: 0) }

  private mutating func take() throws {
    let (descriptor, start, capacity) = (pipe.reading, count, buffer.count)
    let got = buffer.withUnsafeMutableBytes { systemRead(descriptor, $0.baseAddress.map { $0 + start }, capacity - start) }
    guard got >= 0 else {
      guard errno == EINTR else { throw StoreError(errno: errno, "read \(what)", place: "pipe") }
      return
    }
    count += got
    isWhole = got == 0
    guard count == capacity else { return }
    guard count <= limit else {
      throw StoreError(
        .tooLarge(limit: limit), "\(what) is larger than \(limit) bytes", place: "pipe", cure: "store something smaller")
    }
    var larger = try SecretBytes(zeros: min(limit + 1, capacity * 2))
    buffer.withUnsafeBytes { old in larger.withUnsafeMutableBytes { $0.copyMemory(from: old) } }
    buffer = larger
  }
}
