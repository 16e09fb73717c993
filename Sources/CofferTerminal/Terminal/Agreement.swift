/// A question within a call of the library that accepts yes or no, but no error: a failure counts as no.
package final class Agreement {
  private var failure: (any Error)?

  package init() {}

  package func answer(_ question: () throws -> Bool) -> Bool {
    do { return try question() } catch {
      failure = error
      return false
    }
  }

  /// The error to throw when the library threw `error`: the question's own failure, if any.
  package func error(after error: any Error) -> any Error { failure ?? error }
}
