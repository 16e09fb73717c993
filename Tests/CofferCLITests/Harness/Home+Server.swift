import CofferTestSupport
import Foundation
import Testing

extension Home {
  /// A home with an unused place on a server; skips the test without PostgreSQL.
  ///
  /// - Parameter options: the query of the place.
  static func onServer(_ server: DatabaseServer? = nil, _ options: String = "") throws -> Home {
    let server = try server ?? DatabaseServer.shared
    let home = try Home()
    home.environment["COFFER_VAULT"] = server.place("c\(UInt64.random(in: 0 ... .max))", options)
    return home
  }

  /// The same with a vault and its key file in the environment.
  static func withSharedVault(_ server: DatabaseServer? = nil, _ options: String = "") throws -> Home {
    let home = try onServer(server, options)
    try home.transcript("init --quiet --new-key-file \(home.path)/key")
    home.environment["COFFER_KEY_FILE"] = home.path + "/key"
    return home
  }

  func otherMachine() throws -> Home {
    let other = try Home()
    for name in ["COFFER_VAULT", "COFFER_KEY_FILE"] { other.environment[name] = environment[name] }
    return other
  }

  var place: String { environment["COFFER_VAULT"] ?? "" }
  var schema: String { "coffer_\(place.drop { $0 != "#" }.dropFirst())" }
}
