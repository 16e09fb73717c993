public import CofferPlatform
internal import CofferAgent
internal import Synchronization

/// `org.freedesktop.secrets` on the bus of this session: programs that know nothing of Coffer keep their secrets in its vault.
///
/// It holds no key: the agent does, and locks when it is told to. Source: Secret Service API 0.2 (freedesktop.org).
public final class SecretServiceProvider: Sendable {
  private let settings: SecretServiceSettings
  private let inbox: Inbox
  private let answers = Atomic<Bool>(false)

  /// Whether it has begun to answer clients.
  public var isReady: Bool { answers.load(ordering: .acquiring) }

  /// The name on the bus.
  public static let busName = "org.freedesktop.secrets"
  /// The name by which xdg-desktop-portal finds the secrets of sandboxed applications.
  public static let portalName = "org.freedesktop.impl.portal.desktop.coffer"

  /// A provider that begins with ``run()``.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/io(_:)`` where the process has no descriptor left.
  public init(_ settings: SecretServiceSettings) throws(StoreError) {
    self.settings = settings
    inbox = try Inbox()
  }

  /// Takes the name and answers clients, on this thread, until ``stop()``.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/alreadyExists`` where another provider has the name;
  ///   ``/CofferPlatform/StoreError/Kind/unsupported`` where libsystemd is not installed;
  ///   ``/CofferPlatform/StoreError/Kind/io(_:)`` where there is no bus, or it went away;
  ///   ``/CofferPlatform/StoreError/Kind/closed`` where another provider took the name.
  public func run() throws(StoreError) {
    let bus = try Bus(address: settings.bus)
    let service = try ServiceLoop(bus, settings, inbox)
    try service.startWatching()
    defer { service.watch.stop() }
    try Self.takeName(bus, settings)
    // Missing it, sandboxed applications have no secrets, and all others have.
    _ = try bus.takeName(Self.portalName, replacing: settings.replaces)
    try bus.listen(
      to: "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',member='NameOwnerChanged',arg2=''")
    answers.store(true, ordering: .releasing)
    settings.ready(bus.address)
    try service.run()
  }

  /// Makes ``run()`` return. Any thread may.
  public func stop() { inbox.post(.stop) }

  private static func takeName(_ bus: Bus, _ settings: SecretServiceSettings) throws(StoreError) {
    guard try !bus.takeName(busName, replacing: settings.replaces) else { return }
    let owner = try bus.owner(of: busName).map { ProviderOwner(process: $0.process) }
    throw StoreError(
      .alreadyExists, "\(owner?.description ?? "another program") has the name \(busName)", place: bus.address,
      cure: settings.replaces
        ? "end that program, which does not give the name away" : "--replace takes it, where the owner allows that")
  }

  /// Who answers programs that ask for secrets on the bus of this session; nil where nobody does.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/unsupported`` where libsystemd is not installed;
  ///   ``/CofferPlatform/StoreError/Kind/io(_:)`` where there is no bus.
  public static func owner() throws(StoreError) -> ProviderOwner? {
    let bus = try Bus()
    return try bus.owner(of: busName).map { ProviderOwner(process: $0.process) }
  }

  /// The address of the bus of this session.
  public static func busAddress() throws(StoreError) -> String { try Bus().address }

  /// Has the bus of this session look again at which services it starts.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/unsupported`` where libsystemd is not installed;
  ///   ``/CofferPlatform/StoreError/Kind/io(_:)`` where there is no bus.
  public static func reloadBus() throws(StoreError) {
    _ = try Bus().ask("ReloadConfig") { (_) throws(Refusal) in }
  }

  /// Why no session of clients can be encrypted; nil where it can.
  public static func missingCipher() -> String? {
    Gcrypt.table == nil ? "libgcrypt20 is not installed: secrets cross the bus as they are" : nil
  }
}

/// A process that answers programs that ask for secrets.
public struct ProviderOwner: Sendable, Equatable, CustomStringConvertible {
  /// Its number.
  public let process: Int32
  /// The client's own name; empty if it cannot be known.
  public let program: String

  init(process: Int32) {
    self.process = process
    let name = KernelFile.text("/proc/\(process)/cmdline")?.split(separator: "\0").first?.split(separator: "/").last
    program = name.map(String.init) ?? ""
  }

  /// `gnome-keyring-daemon, process 4711`
  public var description: String { program.isEmpty ? "process \(process)" : "\(program), process \(process)" }
}
