internal import CofferDefaults
internal import CofferPlatform
internal import CofferStorage
internal import Foundation
internal import SystemPackage

/// Another process with a plain store: `TestTool <verb> <folder> <domain> …`.
enum PlainVerbs {
  /// Runs `verb`; false if it is not a plain store verb.
  static func run(_ verb: String, _ arguments: [String]) throws -> Bool {
    do { return try perform(verb, arguments) } catch {
      print("error: \(error)")
      exit(1)
    }
  }

  private static func perform(_ verb: String, _ arguments: [String]) throws -> Bool {
    guard arguments.count > 1 else { return false }
    let folder = FilePath(arguments[0]), domain = arguments[1], rest = Array(arguments.dropFirst(2))
    switch verb {
    case "foundation-write": FoundationSide.write(domain)
    case "foundation-read": FoundationSide.read(domain)
    case "foundation-set": FoundationSide.set(domain, rest[0], Int(rest[1]) ?? 0)
    case "write": try Writers.distinct(folder, domain, rest)
    case "count": try Writers.count(folder, domain, rest)
    case "acknowledge": try Writers.acknowledge(folder, domain)
    case "write-large": try Writers.large(folder, domain)
    case "churn": try Writers.churn(folder, domain, rest)
    case "set": try Writers.set(folder, domain, rest)
    case "get": try Writers.get(folder, domain, rest[0])
    case "starved": try Writers.starved(folder, domain)
    case "stepped": try Stepped.run(folder, domain, rest)
    case "threads": try Threads.run(folder, domain, rest)
    case "hold": try Writers.hold(folder, domain)
    case "hold-then-write": try Writers.holdThenWrite(folder, domain)
    case "open-and-die": try Dying.open(folder, domain, rest)
    case "bus": Dying.bus(folder, domain, rest)
    case "delete-and-die": try Dying.delete(folder, domain, rest)
    case "unprivileged": try Writers.unprivileged(folder, domain)
    case "fork": try Writers.forked(folder, domain)
    case "pace": try Observed.pace(folder, domain)
    case "die-before-bell": try Observed.dieBeforeBell(folder, domain)
    case "fork-observed": try Observed.forked(folder, domain)
    case "latency": try Observed.latency(folder, domain, rest)
    case "cost": try Observed.cost(folder, domain)
    case "observe": try Observed.observe(folder, domain)
    case "fold-and-die": try Dying.fold(folder, domain, rest)
    case "commit-and-die": try Dying.commit(folder, domain, rest)
    case "outcome": try Dying.outcome(folder, domain, rest)
    case "live": try Scenario.live(folder, domain, rest)
    case "examine": try Scenario.examine(rest)
    case "failing": try Failing.run(folder, rest)
    case "power-loss": try PowerLoss.run(folder, seed: UInt64(rest[0]) ?? 0, trials: Int(rest[1]) ?? 0)
    case "fuzz-lists": try Fuzz.lists(folder, seed: UInt64(rest[0]) ?? 0, count: Int(rest[1]) ?? 0, FilePath(rest[2]))
    case "fuzz-journals": try Fuzz.journals(folder, seed: UInt64(rest[0]) ?? 0, count: Int(rest[1]) ?? 0)
    case "fuzz-arguments": try Fuzz.arguments(folder, seed: UInt64(rest[0]) ?? 0, count: Int(rest[1]) ?? 0)
    case "ask-standard": try StandardStore.ask()
    case "foundation-fault": FoundationFaults.show(rest[0], domain, Array(rest.dropFirst()))
    default: return false
    }
    return true
  }
}
