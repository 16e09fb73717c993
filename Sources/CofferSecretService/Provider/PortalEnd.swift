internal import CofferPlatform
internal import CofferStorage

/// The end of a pipe into which the secret of a sandboxed application is written.
final class PortalEnd: Sendable {
  private let descriptor: Int32
  /// Milliseconds that the pipe may be full: it is empty unless somebody means ill.
  private static let patience: Int32 = 1000

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  func write(_ secret: SecretForm) throws(Refusal) {
    var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    guard poll(&waiting, 1, Self.patience) > 0 else { throw .failed("the pipe of the application takes nothing") }
    let count = secret.bytes.count
    let written = secret.bytes.withUnsafeBytes { systemWrite(descriptor, $0.baseAddress, $0.count) }
    guard written == count else { throw .failed("the pipe of the application is closed") }
  }
}
