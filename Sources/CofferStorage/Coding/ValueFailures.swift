public import CofferPlatform

/// Failures of plain handles in `wrappedValue`, or of a router in its subscript, that no `onFailure(_:)` took.
public enum ValueFailures {
  /// Called with each failure. Without a listener they go to standard error, so that none is lost.
  public static let handler = Handler<StoreError>()

  package static func report(_ failure: StoreError) {
    guard handler.count == 0 else { return handler.trigger(failure) }
    var line = "coffer: \(failure)\n"
    line.withUTF8 { bytes in
      // A failure of standard error has nowhere to go.
      _ = write(STDERR_FILENO, bytes.baseAddress, bytes.count)
    }
  }
}
