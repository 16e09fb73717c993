public import CofferPlatform

/// The failures that plain handles met in `wrappedValue`, or a router in its subscript, and that no `onFailure(_:)` took.
public enum ValueFailures {
  /// Called with each. While nobody is registered they are written to standard error, so that none passes unseen.
  public static let handler = Handler<StoreError>()

  package static func report(_ failure: StoreError) {
    guard handler.count == 0 else { return handler.trigger(failure) }
    var line = "coffer: \(failure)\n"
    line.withUTF8 { bytes in
      // Nothing is left to tell a failure of standard error to.
      _ = write(STDERR_FILENO, bytes.baseAddress, bytes.count)
    }
  }
}
