import Coffer
import CofferConfiguration
import Configuration
import Hummingbird

/// What the service keeps: what it says, and the token that lets in.
public struct ServiceKeys: KeySpace {
  /// What it says to whoever comes.
  public let greeting = StorageKey("service.greeting", default: "Hello")
  /// Where it listens; 0 for any port that is free.
  public let port = StorageKey("service.port", default: 0)
  /// What lets in.
  public let token = StorageKey("service.token", secret: String.self)

  /// The keys.
  public init() {}
}

/// A service over `app`: `/` greets whoever comes, and `/admin` whoever shows the token.
///
/// - Parameter running: is told the port once the service listens.
public func service(over app: StorageRouter, running: @escaping @Sendable (Int) async -> Void) -> some ApplicationProtocol {
  let config = ConfigReader(providers: [EnvironmentVariablesProvider(), CofferProvider(app)]).scoped(to: "service")
  let router = Router()
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
