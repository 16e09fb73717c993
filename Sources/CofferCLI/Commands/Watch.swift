internal import ArgumentParser
// Without it, `changes` is the default of Store, which has ended.
internal import Coffer
internal import CofferStorage
internal import CofferPlatform
internal import CofferTerminal
internal import Synchronization

struct WatchCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "watch", abstract: "Print a line for each change of a domain's keys, never a value.",
    discussion: """
      Watches both stores, until Control-C. Each line names the change (set, removed, expired, migrated), and the process if \
      known.
      """)

  @Argument(help: "The keys; all of the domain if omitted.") var keys: [String] = []
  @Flag(help: "Only preferences; needs no vault.") var plain = false
  @OptionGroup var router: RouterOptions
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    for key in keys { try StoredName.check(key) }
    let router = try ShellRouter(router, context)
    var feeds = [(store: "defaults", feed: router.plain.changes)]
    let vault = plain ? nil : try context.vaultStore(service: router.domain)
    if let vault { feeds.append((store: "vault", feed: vault.changes)) }
    // A released store reports no changes.
    try withExtendedLifetime((router, vault)) { try ChangeLines(domain: router.domain, keys: keys, context).run(feeds) }
  }
}

final class WatchEnd: Sendable {
  private let failure = Mutex<(any Error)?>(nil)

  var hasFailed: Bool { failure.withLock { $0 != nil } }

  /// Of several errors the first ends the command.
  func fail(_ error: any Error) {
    failure.withLock { $0 = $0 ?? error }
    kill(getpid(), SIGTERM)
  }

  /// - Parameter held: SIGINT and SIGTERM, held since before there were other threads.
  /// - Throws: always: the failure; the signal, if it does not end the process by itself.
  func wait(_ held: borrowing HeldSignals) throws {
    while true {
      let signal = held.wait()
      if let failure = failure.withLock({ $0 }) { throw failure }
      held.deliver(signal)
      // The first process of a container is not ended by a signal that it does not handle.
      guard getpid() != 1 else { throw signal == SIGINT ? Failure.interrupted : .terminated }
    }
  }
}

/// Prints a line for each change until a signal. No value is printed.
final class ChangeLines: Sendable {
  private let domain: String
  private let keys: Set<String>
  private let json: Bool
  private let note: @Sendable (String) -> Void
  /// Held until every store is watched: after the first line no change is missed.
  private let printing = Mutex(())
  private let end = WatchEnd()

  init(domain: String, keys: [String], _ context: Context) {
    self.domain = domain
    self.keys = Set(keys)
    json = context.json
    note = context.notes
  }

  /// Watches `feeds`, each with the name of its store, and does not return.
  func run(_ feeds: [(store: String, feed: ChangeFeed)]) throws {
    // Before there are watching threads, so that only this one takes signals.
    let held = HeldSignals([SIGINT, SIGTERM])
    let subscriptions = try printing.withLock { _ in
      try feeds.map { store, feed in
        try feed.subscribe { event in self.printing.withLock { _ in self.print(event, store) } }
      }
    }
    defer { for subscription in subscriptions { subscription.cancel() } }
    try end.wait(held)
  }

  private func print(_ event: ChangeFeed.Event, _ store: String) {
    switch event {
    case .changes(let changes):
      for change in changes where keys.isEmpty || keys.contains(change.name) { print(change, store) }
    case .access: note("values in \(store) may have changed or be unreadable: try coffer status")
    case .ended: break
    }
  }

  private func print(_ change: Change, _ store: String) {
    guard !end.hasFailed else { return }
    do throws(Failure) { try Output.line(json ? JSONText.encode(Line(change, domain, store)) : text(change, store)) } catch {
      end.fail(error)
    }
  }

  /// `theme: set in defaults by process 4711`
  private func text(_ change: Change, _ store: String) -> String {
    let author =
      switch change.origin {
      case .thisProcess: "this program"
      case .otherProcess(let id?): "process \(id)"
      case .otherProcess(nil): "another program"
      }
    return "\(Printable.line(change.name)): \(change.cause) in \(store) by \(author)"
  }

  private struct Line: Encodable {
    let domain: String, key: String, store: String, cause: String
    /// Null for an unknown program.
    @OrNull var process: Int32?

    init(_ change: Change, _ domain: String, _ store: String) {
      self.domain = domain
      key = change.name
      self.store = store
      cause = "\(change.cause)"
      process = if case .otherProcess(let id) = change.origin { id } else { getpid() }
    }
  }
}
