import CofferTestSupport
import Foundation
import Testing

/// A home with a vault, its own bus, and the service on it, for installed programs.
final class SecretServiceHome {
  let home: Home
  private(set) var bus: TestBus
  private var service: Child?

  /// - Parameter starts: whether the service already runs; otherwise the bus starts it on demand.
  init(_ arguments: String = "", starts: Bool = true, opens: Bool = true) throws {
    home = try Home()
    try home.transcript("init --new-key-file \(home.path)/key --quiet")
    var given = home.environment
    if opens { given["COFFER_KEY_FILE"] = home.path + "/key" }
    bus = try Self.bus(home, given)
    home.environment["DBUS_SESSION_BUS_ADDRESS"] = bus.address
    home.environment["XDG_DATA_HOME"] = home.path + "/share"
    home.environment["XDG_CONFIG_HOME"] = home.path + "/config"
    if opens { home.environment["COFFER_KEY_FILE"] = home.path + "/key" }
    guard starts else { return }
    try start(arguments)
  }

  deinit {
    if let service {
      kill(service.id, SIGTERM)
      _ = try? service.wait()
    }
  }

  private static func bus(_ home: Home, _ environment: [String: String]) throws -> TestBus {
    try TestBus(services: home.path + "/share/dbus-1/services", environment: environment)
  }

  /// Replaces the bus by one that knows the currently installed files.
  func startBus() throws {
    var given = home.environment
    given["DBUS_SESSION_BUS_ADDRESS"] = nil
    let next = try Self.bus(home, given)
    bus.stop()
    bus = next
    home.environment["DBUS_SESSION_BUS_ADDRESS"] = next.address
  }

  /// The process that owns the name on the bus; nil if none.
  func process() throws -> Int32? {
    let status = try JSONSerialization.jsonObject(with: home.coffer("secret-service status --json").bytes) as? [String: Any]
    return status?["process"] as? Int32
  }

  /// Starts the service, and waits until it has the name.
  func start(_ arguments: String) throws {
    let messages = try home.file("service.err")
    service = try Child(
      ["secret-service", "run"] + Home.words(arguments), environment: home.environment,
      opening: [0: ("/dev/null", O_RDONLY), 1: ("/dev/null", O_WRONLY), 2: (messages, O_WRONLY)])
    eventually("the service answers") { (try? home.content("service.err").contains("answers programs")) == true }
  }

  func end(_ signal: Int32 = SIGTERM) throws -> Int32 {
    let service = try #require(service)
    kill(service.id, signal)
    self.service = nil
    return try service.wait()
  }

  /// Skips the test if the program is not installed.
  func program(_ words: [String], in input: String = "") throws -> (status: Int32, out: String, err: String) {
    guard let answer = try home.program(words, in: input) else { try Test.skip(without: words[0]) }
    return answer
  }

  /// Skips the test if the system's Python or one of `modules` is not installed.
  func python(_ script: String, needs modules: [String]) throws -> String {
    let imports = modules.map { "import \($0)" }.joined(separator: "\n")
    guard let check = try home.program(["python3", "-c", imports]), check.status == 0 else {
      try Test.skip(without: "python3 or one of its modules \(modules.joined(separator: ", "))")
    }
    let answer = try #require(try home.program(["python3", "-c", script]))
    #expect(answer.status == 0, "\(answer.err)")
    return answer.out
  }
}
