internal import CofferPlatform
public import CofferDefaults
public import CofferStorage
internal import FoundationEssentials

/// Values from the command line and the environment that replace stored ones for one run of a program.
///
/// ```
/// $ app -theme dark -zoom=-0.5
/// $ APP_THEME=dark app
/// ```
///
/// The text becomes a value of the key's declared type: `-zoom -0.5` is a number for a `Double` key. Other text, or none, throws
/// ``/CofferPlatform/StoreError/Kind/undecodable(stored:)`` when the key is read. Overrides never change the stored value,
/// even under a write. A router with an override of a vault key does not open. A variable may stand for several names; one
/// for a member of a family of secrets is refused when that member is used.
public struct Overrides: Sendable {
  /// The words of a command line, without the program's name.
  public var arguments: [String]
  /// The environment's part, if the program asked for one.
  public var environment: EnvironmentLayer?

  /// Overrides from `arguments` and `environment`.
  ///
  /// - Parameters:
  ///   - arguments: words among which `-key value` and `-key=value` override a key. Words with two hyphens, and all that
  ///     follows a lone `--`, are left to the program.
  ///   - environment: variables that override keys; see ``/CofferDefaults/EnvironmentLayer``.
  public init(arguments: [String], environment: EnvironmentLayer? = nil) {
    self.arguments = arguments
    self.environment = environment
  }

  /// No overrides.
  public static let none = Overrides(arguments: [])

  /// This process's command line.
  public static var commandLine: Overrides { Overrides(arguments: Array(CommandLine.arguments.dropFirst())) }

  /// Takes the overrides of the keys of `spaces` out of `arguments`, so that a parser of the rest does not see them:
  ///
  /// ```swift
  /// var arguments = Array(CommandLine.arguments.dropFirst())
  /// let overrides = try Overrides.take(from: &arguments, for: keys)
  /// let options = try Options.parse(arguments)
  /// let app = try StorageRouter.open("com.example.app", keys: keys, overrides: overrides)
  /// ```
  ///
  /// Words that name no key stay in order, and so does all that follows a lone `--`. An override of a key of the vault is
  /// taken too: a router with it does not open, and says why.
  ///
  /// - Parameters:
  ///   - arguments: the words of a command line, without the program's name.
  ///   - spaces: the key spaces that the router gets.
  /// - Throws: ``/CofferPlatform/StoreError/Kind/undecodable(stored:)`` if a key's option has no value, at the end or before
  ///   another option; nothing is taken then.
  public static func take(from arguments: inout [String], for spaces: any KeySpace...) throws(StoreError) -> Overrides {
    let keys = spaces.flatMap(\.declaredKeys)
    return Overrides(arguments: try LaunchArguments.take(from: &arguments) { name in keys.contains { $0.owns(name) } })
  }

  /// This process's command line and, beneath it, the environment variables that begin with `prefix`: under `APP_`, the key
  /// `ui.theme` is `APP_UI_THEME`.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/invalidName`` if one of those is not UTF-8, and would read as another value.
  public static func commandLine(andEnvironment prefix: String) throws(StoreError) -> Overrides {
    var overrides = commandLine
    var variables: [String: String] = [:]
    for name in ProcessInfo.processInfo.environment.keys where name.hasPrefix(prefix) {
      variables[name] = try Places.environment(name)
    }
    overrides.environment = EnvironmentLayer(prefix: prefix, environment: variables)
    return overrides
  }
}
