import CofferTestSupport
import Foundation
import Testing

extension Home {
  /// A home that names a place on a server, where nothing is yet; the test is skipped where PostgreSQL is not installed.
  ///
  /// - Parameter options: what stands behind `?` in the place.
  static func onServer(_ server: DatabaseServer? = nil, _ options: String = "") throws -> Home {
    let server = try server ?? DatabaseServer.shared
    let home = try Home()
    home.environment["COFFER_VAULT"] = server.place("c\(UInt64.random(in: 0 ... .max))", options)
    return home
  }

  /// The same with a vault that a key file opens, which the environment names.
  static func withSharedVault(_ server: DatabaseServer? = nil, _ options: String = "") throws -> Home {
    let home = try onServer(server, options)
    try home.transcript("init --quiet --new-key-file \(home.path)/key")
    home.environment["COFFER_KEY_FILE"] = home.path + "/key"
    return home
  }

  /// Another machine, which opens the same vault with the same key file.
  func otherMachine() throws -> Home {
    let other = try Home()
    for name in ["COFFER_VAULT", "COFFER_KEY_FILE"] { other.environment[name] = environment[name] }
    return other
  }

  /// The place of the vault that the environment names.
  var place: String { environment["COFFER_VAULT"] ?? "" }
  /// The schema that it is in.
  var schema: String { "coffer_\(place.drop { $0 != "#" }.dropFirst())" }
}
