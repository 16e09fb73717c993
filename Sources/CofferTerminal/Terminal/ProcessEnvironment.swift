internal import CofferStorage
internal import CofferPlatform

package enum ProcessEnvironment {
  /// Nil if unset or empty, as shells often leave it.
  package static func value(_ name: String) -> String? {
    guard let value = word(name), !value.isEmpty else { return nil }
    return value.text  // Where another reading would matter, it was refused at the start.
  }

  /// The value, byte for byte; nil if unset.
  package static func word(_ name: String) -> ByteWord? { getenv(name).map { ByteWord($0) } }

  /// Every variable that is text.
  package static var all: [(name: String, value: String)] {
    var all: [(name: String, value: String)] = []
    var next = coffer_environment()
    while let entry = next?.pointee {
      if let pair = String(validatingCString: entry).flatMap(\.nameAndValue) { all.append(pair) }
      next = next?.advanced(by: 1)
    }
    return all
  }

  /// The entries for `names`, byte for byte, in the form of execve(2).
  package static func entries(_ names: [String]) -> [ByteWord] {
    names.compactMap { name in word(name).map { ByteWord("\(name)=").joined(to: $0) } }
  }

  /// Variables read as text; `COFFER_PASSPHRASE` is any bytes, and `PATH` is searched byte for byte.
  private static let texts = [
    "COFFER_HOME", "COFFER_VAULT", "COFFER_DOMAIN", "COFFER_PASSPHRASE_FILE", "COFFER_KEY_FILE", "COFFER_IDENTITY",
    "COFFER_EXPECT_VAULT", "COFFER_ASKPASS", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "DISPLAY", "WAYLAND_DISPLAY", "HOME",
    "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "VISUAL", "EDITOR", "PASSWORD_STORE_DIR",
    "CREDENTIALS_DIRECTORY", "COFFER_CLIPBOARD", "KUBERNETES_EXEC_INFO", "SSH_ASKPASS_PROMPT",
  ]

  /// Refuses values that are not UTF-8: as text, two different folders could look the same.
  package static func refuseUnreadable() throws(Failure) {
    for name in texts {
      guard let value = word(name), !value.isText else { continue }
      throw .usage(
        "\(name) in the environment is not UTF-8 (not repeated here) and could be read as another name",
        try: "a value in UTF-8, or unset \(name)")
    }
  }
}
