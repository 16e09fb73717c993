internal import CofferPlatform
internal import CofferStorage

/// The pipe or socket for a sandboxed application's secret.
final class PortalEnd: Sendable {
  private let descriptor: Int32

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// Writes `secret`, which fits an empty pipe, without waiting: only a malicious client's pipe is full.
  func write(_ secret: SecretForm) throws(Refusal) {
    let written = secret.bytes.withUnsafeBytes { coffer_write_at_once(descriptor, $0.baseAddress, $0.count) }
    guard written == secret.bytes.count else { throw .failed("the application's pipe is full, closed or missing") }
  }
}
