internal import CofferPlatform
internal import Foundation
internal import Testing

/// A private message bus in its own folder.
public final class TestBus: Sendable {
  /// The folder of the bus's socket and a test's other files.
  public let folder: TestFolder
  private let daemon: pid_t
  /// `DBUS_SESSION_BUS_ADDRESS` for its clients.
  public var address: String { "unix:path=\(folder.path)/bus" }

  private static let program = "/usr/bin/dbus-daemon"

  private static func needPrograms() throws {
    guard access(program, X_OK) == 0, let library = dlopen("libsystemd.so.0", RTLD_NOW) else {
      try Test.skip(without: "dbus-daemon or libsystemd0")
    }
    dlclose(library)
  }

  /// Starts it; skips the test if dbus-daemon or libsystemd is not installed.
  ///
  /// - Parameters:
  ///   - services: a folder with files of services that the bus starts on demand.
  ///   - environment: the environment of those services.
  public init(services: String? = nil, environment: [String: String] = [:]) throws {
    try Self.needPrograms()
    folder = try TestFolder("bus")
    let started = services.map { "<servicedir>\($0)</servicedir>" } ?? ""
    let configuration = """
      <busconfig><type>session</type><listen>unix:path=\(folder.path)/bus</listen><auth>EXTERNAL</auth>\(started)
      <policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>
      <limit name="max_replies_per_connection">100000</limit>
      </busconfig>
      """
    let file = "\(folder.path)/bus.conf"
    try Data(configuration.utf8).write(to: URL(fileURLWithPath: file))
    daemon = try Self.start([Self.program, "--nofork", "--config-file=\(file)"], environment: environment)
    let socket = "\(folder.path)/bus"
    eventually("the bus listens") { SocketProxy.isListening(socket) }
  }

  deinit {
    kill(daemon, SIGKILL)
    waitpid(daemon, nil, 0)
  }

  /// Ends the bus.
  public func stop() { kill(daemon, SIGKILL) }

  /// Starts a program with empty input, or with the file `input`, and no output. It ends with the bus's daemon or by itself.
  public static func start(_ words: [String], environment: [String: String] = [:], input: String? = nil) throws -> Int32 {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, input ?? "/dev/null", O_RDONLY, 0)
    for descriptor in 1...Int32(2) { posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_WRONLY, 0) }
    let argv = words.map { strdup($0) } + [nil]
    let given = ["PATH": "/usr/bin:/bin"].merging(environment) { $1 }
    let envp = given.map { strdup("\($0)=\($1)") } + [nil]
    defer { for text in argv + envp { free(text) } }
    var child: pid_t = 0
    try #require(posix_spawn(&child, words[0], &actions, nil, argv, envp) == 0)
    return child
  }
}
