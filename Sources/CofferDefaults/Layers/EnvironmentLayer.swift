package import CofferStorage

/// Overrides from environment variables, for programs that opt in.
///
/// A key's variable is the prefix and the key's name in capitals, with an underscore for every character that is not an ASCII
/// letter or digit: under `MYAPP_`, `ui.theme` is `MYAPP_UI_THEME`. Two keys can share a variable, which overrides both.
/// Lists of names omit variables, which do not tell their keys' spelling.
public struct EnvironmentLayer: Sendable {
  /// The prefix of all variables, for example `MYAPP_`.
  public let prefix: String
  /// Keyed by the length of the text after the prefix: most keys then meet no candidate.
  private let variables: [Int: [(rest: [UInt8], text: String)]]

  /// Takes the variables of `environment` that begin with `prefix`.
  public init(prefix: String, environment: [String: String]) {
    self.prefix = prefix
    let ours = environment.filter { $0.key.hasPrefix(prefix) }
      .map { (rest: Array($0.key.utf8.dropFirst(prefix.utf8.count)), text: $0.value) }
    variables = Dictionary(grouping: ours, by: \.rest.count)
  }

  /// The variable that overrides `key`.
  public func variable(for key: String) -> String {
    prefix
      + String(
        decoding: key.utf8.map(Self.inVariable), as: UTF8.self)
  }

  private static func inVariable(_ byte: UInt8) -> UInt8 {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - 32
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): byte
    default: UInt8(ascii: "_")
    }
  }

  var isEmpty: Bool { variables.isEmpty }

  func value(for key: String) -> String? {
    guard let candidates = variables[key.utf8.count] else { return nil }
    return candidates.first { $0.rest.elementsEqual(key.utf8.lazy.map(Self.inVariable)) }?.text
  }
}

package struct DefaultsLayers: Sendable {
  package var arguments: [String]
  package var environment: EnvironmentLayer?
  package var registered: [String: PlainForm]
  package var prefix: String

  package init(
    _ arguments: [String] = [], _ environment: EnvironmentLayer? = nil, _ registered: [String: PlainForm] = [:],
    _ prefix: String = ""
  ) {
    self.arguments = arguments
    self.environment = environment
    self.registered = registered
    self.prefix = prefix
  }
}
