internal import CofferPlatform
internal import CofferStorage
internal import FoundationEssentials
internal import SystemPackage

/// The name of what stood in a vault's place before a command that could lose something.
enum KeptName {
  /// `vault.sqlite.before-20261121T080000Z`: beside the vault, so that it is found; by time, so that none is in another's way.
  static func beside(_ vault: FilePath) throws(StoreError) -> FilePath {
    let stamp = Date().formatted(.iso8601.dateSeparator(.omitted).timeSeparator(.omitted))
    let name = vault.appending(suffix: ".before-\(stamp)")
    guard try Stat.ofLink(name) != nil else { return name }
    return name.appending(suffix: "-\(String(UInt32.random(in: .min ... .max), radix: 36))")
  }
}
