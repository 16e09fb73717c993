public import CofferDefaults
public import CofferPlatform
internal import CofferStorage
internal import Foundation
internal import Synchronization
public import SystemPackage

/// A file system under a real plain store, whose calls fail when a test says so.
///
/// ```swift
/// let disk = FailingFileSystem()
/// let store = try disk.openDefaults("com.example.app", in: folder)
/// disk.fail(.synchronize, with: .noSpace)
/// #expect(throws: StoreError.self) { try store.synchronize() }
/// ```
public final class FailingFileSystem: Sendable {
  /// A system call that the store's promises depend on.
  public enum Call: Sendable, CaseIterable {
    /// open(2).
    case open
    /// posix_fallocate(3).
    case allocate
    /// pwrite(2).
    case write
    /// pread(2).
    case read
    /// fdatasync(2) and fsync(2).
    case synchronize
    /// rename(2), and the exchange of two files.
    case rename
  }

  private struct Plan { let errno: Errno, skipped: Int, times: Int }
  private struct State {
    var plans: [Call: Plan] = [:]
    var counts: [Call: Int] = [:]
  }
  private let state = Mutex(State())

  /// A file system in which nothing fails yet.
  public init() {}

  /// Makes `call` fail with `errno` `times` times, after `skipped` more successes.
  public func fail(_ call: Call, with errno: Errno, after skipped: Int = 0, times: Int = .max) {
    state.withLock { $0.plans[call] = Plan(errno: errno, skipped: skipped, times: times) }
  }

  /// Lets every call succeed again.
  public func mend() { state.withLock { $0.plans = [:] } }

  /// The number of each call, including failed ones.
  public var calls: [Call: Int] { state.withLock(\.counts) }

  /// A real plain store over this file system. No other store of the process shares its engine.
  ///
  /// - Throws: the errors of
  ///   ``/CofferDefaults/DefaultsStore/open(domain:in:suites:registered:arguments:environment:prefix:access:damage:)``.
  public func openDefaults(
    _ domain: String, in folder: FilePath, arguments: [String] = []
  ) throws(StoreError) -> DefaultsStore {
    var options = EngineOptions()
    options.calls = systemCalls
    options.isShared = false
    return try DefaultsStore.open(domain: domain, in: folder, layers: DefaultsLayers(arguments, nil, [:], ""), options: options)
  }

  private var systemCalls: SystemCalls {
    let real = SystemCalls()
    var calls = SystemCalls()
    calls.open = { [self] in failure(.open) ?? real.open($0, $1, $2) }
    calls.allocate = { [self] in failure(.allocate) ?? real.allocate($0, $1, $2) }
    calls.write = { [self] in failure(.write).map(Int.init) ?? real.write($0, $1, $2) }
    calls.read = { [self] in failure(.read).map(Int.init) ?? real.read($0, $1, $2) }
    calls.synchronize = { [self] in failure(.synchronize) ?? real.synchronize($0) }
    calls.rename = { [self] in failure(.rename) ?? real.rename($0, $1) }
    calls.exchange = { [self] in failure(.rename) ?? real.exchange($0, $1) }
    return calls
  }

  /// The negated `errno`; nil to go on.
  private func failure(_ call: Call) -> Int32? {
    state.withLock { state in
      state.counts[call, default: 0] += 1
      guard let plan = state.plans[call] else { return nil }
      guard plan.skipped == 0 else {
        state.plans[call] = Plan(errno: plan.errno, skipped: plan.skipped - 1, times: plan.times)
        return nil
      }
      guard plan.times > 0 else { return nil }
      state.plans[call] = Plan(errno: plan.errno, skipped: 0, times: plan.times - 1)
      return -plan.errno.rawValue
    }
  }
}
