/// Questions within a call of the library, which takes yes or no but no error: a failure counts as no.
package final class Agreement {
  private var failure: (any Error)?

  private init() {}

  /// - Throws: the failure of a question, or else the error of `call`.
  package static func within<Result: ~Copyable>(_ call: (Agreement) throws -> Result) throws -> Result {
    let agreement = Agreement()
    do { return try call(agreement) } catch { throw agreement.failure ?? error }
  }

  package func answer(_ question: () throws -> Bool) -> Bool {
    do { return try question() } catch {
      failure = error
      return false
    }
  }
}
