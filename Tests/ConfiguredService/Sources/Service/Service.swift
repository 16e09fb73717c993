import Coffer
import CofferConfiguration
import Configuration
import Hummingbird

/// The service's configuration: its greeting, and its admission token.
public struct ServiceKeys: KeySpace {
  /// The greeting.
  public let greeting = StorageKey("service.greeting", default: "Hello")
  /// The port; 0 for any free one.
  public let port = StorageKey("service.port", default: 0)
  /// The admission token.
  public let token = StorageKey("service.token", secret: String.self)

  /// The keys.
  public init() {}
}

/// A service over `app`: `/` greets any visitor, and `/admin` one with the token.
///
/// - Parameter running: gets the port once the service listens.
public func service(over app: StorageRouter, running: @escaping @Sendable (Int) async -> Void) -> some ApplicationProtocol {
  let config = ConfigReader(providers: [EnvironmentVariablesProvider(), CofferProvider(app)]).scoped(to: "service")
  let router = Router()
  router.add(middleware: StoreErrors())
  router.get("/") { _, _ in config.string(forKey: "greeting", default: "Hello") }
  router.get("/admin") { request, _ in
    let token = try config.requiredString(forKey: "token", isSecret: true)
    guard request.headers[.authorization] == "Bearer \(token)" else { throw HTTPError(.unauthorized) }
    return "Welcome"
  }
  return Application(
    router: router,
    configuration: .init(address: .hostname("127.0.0.1", port: config.int(forKey: "port", default: 0))),
    onServerRunning: { channel in await running(channel.localAddress?.port ?? 0) })
}
