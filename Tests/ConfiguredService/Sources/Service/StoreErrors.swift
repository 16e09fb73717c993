import Coffer
import Hummingbird
import Logging

/// Makes a status of a store's error. The page on `CofferServices` shows it.
public struct StoreErrors<Context: RequestContext>: RouterMiddleware {
  /// A middleware for the first place of a router.
  public init() {}

  /// Answers without the error, which names a key and a place.
  public func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    do { return try await next(request, context) } catch let error as StoreError {
      context.logger.error("a store refused", metadata: ["error": "\(error)"])
      switch error.kind {
      // The operator unlocks the vault, or the holder of a lock goes on.
      case .locked, .noAgent, .busy, .unreachable: throw HTTPError(.serviceUnavailable)
      // The user logs in again.
      case .loginRefused, .expired: throw HTTPError(.unauthorized)
      case .conflict: throw HTTPError(.conflict)
      case .tooLarge: throw HTTPError(.contentTooLarge)
      default: throw HTTPError(.internalServerError)
      }
    }
  }
}
