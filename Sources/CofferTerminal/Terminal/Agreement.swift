/// A question that the library asks in the middle of a call, where it takes a yes or a no and no error: one that fails is a no.
package final class Agreement {
  private var failure: (any Error)?

  package init() {}

  package func answer(_ question: () throws -> Bool) -> Bool {
    do { return try question() } catch {
      failure = error
      return false
    }
  }

  /// What is to be thrown where the library threw `error`: the question's own failure, if it has one.
  package func error(after error: any Error) -> any Error { failure ?? error }
}
