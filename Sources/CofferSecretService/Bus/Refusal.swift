internal import CofferPlatform

/// A client's error: a name for programs, and a text without secrets for people.
struct Refusal: Error, Equatable, Sendable {
  let name: String
  let text: String

  private init(_ name: String, _ text: String) {
    self.name = name
    self.text = text
  }

  /// Whether an unlock may resolve it.
  var isForUnlocking: Bool { name == Self.isLocked("").name }

  // Source: Secret Service API 0.2, "Errors".
  static func isLocked(_ text: String) -> Refusal { Refusal("org.freedesktop.Secret.Error.IsLocked", text) }
  static func noSession(_ path: String) -> Refusal {
    Refusal("org.freedesktop.Secret.Error.NoSession", "there is no session \(path) of this client")
  }
  static func noSuchObject(_ path: String) -> Refusal {
    Refusal("org.freedesktop.Secret.Error.NoSuchObject", "there is no object \(path)")
  }

  // Source: D-Bus Specification; libdbus's error names.
  static func invalidArguments(_ text: String) -> Refusal { Refusal("org.freedesktop.DBus.Error.InvalidArgs", text) }
  static func notSupported(_ text: String) -> Refusal { Refusal("org.freedesktop.DBus.Error.NotSupported", text) }
  static func unknownObject(_ path: String) -> Refusal {
    Refusal("org.freedesktop.DBus.Error.UnknownObject", "there is no object \(path)")
  }
  static func unknownInterface(_ name: String) -> Refusal {
    Refusal("org.freedesktop.DBus.Error.UnknownInterface", "the object has no interface \(name)")
  }
  static func unknownMethod(_ name: String) -> Refusal {
    Refusal("org.freedesktop.DBus.Error.UnknownMethod", "the object has no method \(name)")
  }
  static func unknownProperty(_ name: String) -> Refusal {
    Refusal("org.freedesktop.DBus.Error.UnknownProperty", "the object has no property \(name)")
  }
  static func readOnly(_ name: String) -> Refusal {
    Refusal("org.freedesktop.DBus.Error.PropertyReadOnly", "the property \(name) cannot be set")
  }
  static func limit(_ text: String) -> Refusal { Refusal("org.freedesktop.DBus.Error.LimitsExceeded", text) }
  static func late(_ text: String) -> Refusal { Refusal("org.freedesktop.DBus.Error.Timeout", text) }
  static func denied(_ text: String) -> Refusal { Refusal("org.freedesktop.DBus.Error.AccessDenied", text) }
  static func failed(_ text: String) -> Refusal { Refusal("org.freedesktop.DBus.Error.Failed", text) }

  /// An error of the vault for a client. A rolled back, missing or damaged vault is an error: after an empty answer, a
  /// program would believe that it has no credentials, and make new ones.
  init(_ error: StoreError, at path: String) {
    let text = "\(error.what); \(error.cure)"
    switch error.kind {
    case .locked, .noAgent: self = .isLocked(text)
    case .notFound: self = .noSuchObject(path)
    case .invalidName, .tooLarge, .refused, .unencodable: self = .invalidArguments(text)
    default: self = .failed(text)
    }
  }
}
