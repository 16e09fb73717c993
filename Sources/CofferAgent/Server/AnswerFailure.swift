internal import CofferPlatform

/// How answering a request failed.
enum AnswerFailure: Error {
  /// What was asked for cannot be done, or cannot be said: the client is told, unless its change was made.
  case refused(StoreError)
  /// The client cannot be told anything more: the connection ends.
  case transport(TransportFailure)
}
