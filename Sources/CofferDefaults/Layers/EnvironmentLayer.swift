/// Overrides from environment variables, for programs that opt in.
///
/// The variable of a key is the prefix and the key's name in capitals, with an underscore for everything that is neither a
/// letter nor a digit of ASCII: under `MYAPP_`, `ui.theme` is `MYAPP_UI_THEME`. Two keys can share a variable that way; it
/// then overrides both. A variable does not tell its key's spelling, so listings of names do not show it.
public struct EnvironmentLayer: Sendable {
  /// What the names of all variables begin with, for example `MYAPP_`.
  public let prefix: String
  private let variables: [String: String]

  /// The variables of `environment` that begin with `prefix`.
  public init(prefix: String, environment: [String: String]) {
    self.prefix = prefix
    variables = environment.filter { $0.key.hasPrefix(prefix) }
  }

  /// The variable that overrides `key`.
  public func variable(for key: String) -> String {
    prefix
      + String(
        decoding: key.utf8.map { byte in
          switch byte {
          case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - 32
          case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): byte
          default: UInt8(ascii: "_")
          }
        }, as: UTF8.self)
  }

  var isEmpty: Bool { variables.isEmpty }

  func value(for key: String) -> String? { variables[variable(for: key)] }
}
