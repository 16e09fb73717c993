/// A question within a call of the library, which takes yes or no but no error: a failure counts as no.
package final class Agreement {
  private var failure: (any Error)?

  package init() {}

  package func answer(_ question: () throws -> Bool) -> Bool {
    do { return try question() } catch {
      failure = error
      return false
    }
  }

  /// The question's own failure, else `error` from the library.
  package func error(after error: any Error) -> any Error { failure ?? error }
}
