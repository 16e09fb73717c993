internal import Foundation
internal import SystemPackage

/// The processes of `Tests/CrashStates`, where a file system of another's loses what was not synchronized: they change a store as
/// a seed says, and tell before each change what the store is to be after it.
///
/// `TestTool live-vault VAULT KEYFILE SEED COUNT` · `live-plain FOLDER DOMAIN SEED COUNT` · `look`. With `COFFER_TEST_PINS` in
/// the environment, that is the folder of pins.
///
/// | line | what it says |
/// |---|---|
/// | `is STATE` | this was found at the beginning |
/// | `begin STATE` | a change begins that makes it this |
/// | `done` | the change was acknowledged |
/// | `kept` | all that was acknowledged is now promised to outlast a loss of power: pins, or preferences |
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

  /// Makes one change, announced before and acknowledged after.
  static func change<Result>(to state: String, _ body: () throws -> Result) throws {
    VaultVerbs.say("begin \(state)")
    _ = try body()
    VaultVerbs.say("done")
  }
}
