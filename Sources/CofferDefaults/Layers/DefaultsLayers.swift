package import CofferStorage

/// What stands above and beneath a store's files.
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
