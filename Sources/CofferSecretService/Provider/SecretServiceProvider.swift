public import CofferPlatform
internal import Synchronization

/// `org.freedesktop.secrets` on the session's bus: programs without support for Coffer keep their secrets in its vault.
///
/// It holds no key: the agent does, and locks on request. Source: Secret Service API 0.2 (freedesktop.org).
public final class SecretServiceProvider: Sendable {
  private let settings: SecretServiceSettings
  private let inbox: Inbox
  private let answers = Atomic<Bool>(false)

  /// Whether it answers clients.
  public var isReady: Bool { answers.load(ordering: .acquiring) }

  /// The name on the bus.
  public static let busName = "org.freedesktop.secrets"
  /// The name by which xdg-desktop-portal finds the secrets of sandboxed applications.
  public static let portalName = "org.freedesktop.impl.portal.desktop.coffer"

  /// A provider that begins with ``run()``.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/io(_:)`` if the process has no descriptor left.
  public init(_ settings: SecretServiceSettings) throws(StoreError) {
    self.settings = settings
    inbox = try Inbox()
  }

  /// Takes the name and answers clients, on this thread, until ``stop()``.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/alreadyExists`` if another provider has the name;
  ///   ``/CofferPlatform/StoreError/Kind/unsupported`` without libsystemd; ``/CofferPlatform/StoreError/Kind/io(_:)``
  ///   without a bus, or after its end; ``/CofferPlatform/StoreError/Kind/closed`` if another provider took the name.
  public func run() throws(StoreError) {
    let bus = try Bus(address: settings.bus)
    let service = try ServiceLoop(bus, settings, inbox)
    try service.startWatching()
    defer { service.watch.stop() }
    try Self.takeName(bus, settings)
    // Without it, only sandboxed applications have no secrets.
    _ = try bus.takeName(Self.portalName, replacing: settings.replaces)
    try bus.listen(
      to: "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',member='NameOwnerChanged',arg2=''")
    answers.store(true, ordering: .releasing)
    settings.ready(bus.address)
    try service.run()
  }

  /// Makes ``run()`` return, from any thread.
  public func stop() { inbox.post(.stop) }

  private static func takeName(_ bus: Bus, _ settings: SecretServiceSettings) throws(StoreError) {
    guard try !bus.takeName(busName, replacing: settings.replaces) else { return }
    let owner = try bus.owner(of: busName).map { ProviderOwner(process: $0.process) }
    throw StoreError(
      .alreadyExists, "\(owner?.description ?? "another program") has the name \(busName)", place: bus.address,
      cure: settings.replaces
        ? "end that program, which does not give the name away" : "--replace takes it, where the owner allows that")
  }

  /// The provider on the session's bus; nil if there is none.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/unsupported`` without libsystemd;
  ///   ``/CofferPlatform/StoreError/Kind/io(_:)`` without a bus.
  public static func owner() throws(StoreError) -> ProviderOwner? {
    let bus = try Bus()
    return try bus.owner(of: busName).map { ProviderOwner(process: $0.process) }
  }

  /// The address of the session's bus.
  public static func busAddress() throws(StoreError) -> String { try Bus().address }

  /// Makes the session's bus reload the services that it can start.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/unsupported`` without libsystemd;
  ///   ``/CofferPlatform/StoreError/Kind/io(_:)`` without a bus.
  public static func reloadBus() throws(StoreError) {
    _ = try Bus().ask("ReloadConfig") { (_) throws(Refusal) in }
  }

  /// The reason why sessions cannot be encrypted; nil if they can.
  public static func missingCipher() -> String? {
    Gcrypt.table == nil ? "libgcrypt is not installed: secrets cross the bus as they are" : nil
  }
}

/// A process that provides secrets to programs.
public struct ProviderOwner: Sendable, Equatable, CustomStringConvertible {
  /// Its process id.
  public let process: Int32
  /// Its program's name; empty if unknown.
  public let program: String

  init(process: Int32) {
    self.process = process
    let name = KernelFile.text("/proc/\(process)/cmdline")?.split(separator: "\0").first?.split(separator: "/").last
    program = name.map(String.init) ?? ""
  }

  /// `gnome-keyring-daemon, process 4711`
  public var description: String { program.isEmpty ? "process \(process)" : "\(program), process \(process)" }
}
