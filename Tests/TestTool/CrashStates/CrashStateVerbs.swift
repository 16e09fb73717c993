internal import Foundation
internal import SystemPackage

/// The processes of `Tests/CrashStates`, where a foreign file system loses unsynchronized data: they change a store by a
/// seed, and print each expected state before the change.
///
/// `TestTool live-vault VAULT KEYFILE SEED COUNT` · `live-plain FOLDER DOMAIN SEED COUNT` · `look`. `COFFER_TEST_PINS` in
/// the environment is the folder of pins.
///
/// | line | meaning |
/// |---|---|
/// | `is STATE` | the state at the beginning |
/// | `begin STATE` | a change to this begins |
/// | `done` | the change was acknowledged |
/// | `kept` | everything acknowledged is now promised to survive a power loss: pins, or preferences |
enum CrashStateVerbs {
  /// Runs `verb`; false if it is not one of these.
  static func run(_ verb: String, _ arguments: [String]) throws -> Bool {
    switch verb {
    case "live-vault":
      var life = try VaultLife(FilePath(arguments[0]), arguments[1], seed: UInt64(arguments[2]) ?? 0)
      try life.live(Int(arguments[3]) ?? 0)
    case "live-plain":
      var life = try PlainLife(FilePath(arguments[0]), arguments[1], seed: UInt64(arguments[2]) ?? 0)
      try life.live(Int(arguments[3]) ?? 0)
    case "look": StateReader.answer()
    default: return false
    }
    return true
  }

  static func change<Result>(to state: String, _ body: () throws -> Result) throws {
    VaultVerbs.say("begin \(state)")
    _ = try body()
    VaultVerbs.say("done")
  }
}
