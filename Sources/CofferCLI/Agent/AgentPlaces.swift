internal import ArgumentParser
internal import Coffer
internal import CofferStorage
internal import CofferPlatform
internal import CofferPostgres
internal import CofferTerminal
internal import FoundationEssentials
internal import SystemPackage

/// The places for an agent started from here, except standard ones: it has another current folder.
enum AgentPlaces {
  static func variables(_ context: Context) -> [String] {
    let home = context.places.home.map { "COFFER_HOME=\($0)" }
    let vault = context.variables["COFFER_VAULT"] == nil ? nil : "COFFER_VAULT=\(context.places.vault)"
    return [home, vault].compactMap(\.self)
  }

  /// Variables with non-standard places for a service, which has its own environment. libpq's are among them: a program may
  /// name a vault on a server to an agent that was installed for another.
  ///
  /// - Throws: a usage failure for a control character: a newline would begin another line of the service's file.
  static func allVariables(_ context: Context) throws -> [String] {
    let folders = context.places.home == nil ? ["XDG_DATA_HOME", "XDG_STATE_HOME"] : []
    // Each session of Kerberos has its own file, so that each unit would differ: a vault in a file needs none.
    let server = PostgresVaults.variables.filter { $0 != "KRB5CCNAME" || context.places.vault.path == nil }
    let all =
      variables(context)
      + (folders + server).compactMap { name in ProcessEnvironment.value(name).map { "\(name)=\($0)" } }
    for variable in all where variable.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
      let name = String(variable.unicodeScalars.prefix { $0 != "=" })
      throw Failure.usage("\(name) has a control character in it", try: "another value of \(name)")
    }
    return all
  }
}
