public import CofferStorage
internal import Foundation
public import SystemPackage

/// The name of a set of preferences, and the property list that holds them.
///
/// The list is where Foundation's `UserDefaults` keeps it on Linux: `$XDG_CONFIG_HOME/<domain>.plist`, or
/// `~/.config/<domain>.plist` where that variable is unset, empty or relative (XDG Base Directory Specification 0.8).
public struct DefaultsDomain: Sendable, Hashable {
  /// The domain's name, for example `com.example.app`: one component of a path.
  public let name: String
  /// The folder of the list.
  public let folder: FilePath
  /// The property list.
  public var file: FilePath { folder.appending(name + Self.suffix) }

  /// Bytes of UTF-8 in a domain's name, at most: file names end at 255 bytes, and the hidden files beside the list need room.
  public static let longestName = 200
  static let suffix = ".plist"

  /// A domain in `folder`, or in the user's configuration folder.
  ///
  /// - Throws: ``StoreError/Kind/invalidName`` when `name` is empty, `.` or `..`, holds a slash or a control character, or is
  ///   longer than ``longestName``; ``StoreError/Kind/notFound`` when no folder is given and the user has no home folder.
  public init(_ name: String, in folder: FilePath? = nil) throws(StoreError) {
    self.name = try Self.check(name)
    if let folder { self.folder = folder } else { self.folder = try Self.configurationFolder() }
  }

  /// The domains that have a property list in `folder`, or in the user's configuration folder, by name.
  ///
  /// - Throws: ``StoreError`` `.denied` or `.io` when the folder cannot be read. A folder that is not there holds none.
  public static func list(in folder: FilePath? = nil) throws(StoreError) -> [DefaultsDomain] {
    let place: FilePath
    if let folder { place = folder } else { place = try configurationFolder() }
    guard try FileStatus(at: place) != nil else { return [] }
    let names: [String]
    do { names = try FileManager.default.contentsOfDirectory(atPath: place.string) } catch {
      throw StoreError(
        .denied, "could not list the folder", place: place.string, cure: "check its owner and mode", underlying: error)
    }
    var domains: [DefaultsDomain] = []
    for name in names.sorted() where name.hasSuffix(suffix) && !name.hasPrefix(".") {
      let domain = String(name.dropLast(suffix.count))
      // A file that cannot be a domain of ours is some other program's.
      guard refusal(of: domain) == nil else { continue }
      domains.append(try DefaultsDomain(domain, in: place))
    }
    return domains
  }

  /// `$XDG_CONFIG_HOME`, else `~/.config`.
  static func configurationFolder(
    _ environment: [String: String] = ProcessInfo.processInfo.environment
  ) throws(StoreError) -> FilePath {
    if let folder = environment["XDG_CONFIG_HOME"], folder.hasPrefix("/") { return FilePath(folder) }
    let home = environment["HOME"] ?? NSHomeDirectory()
    guard home.hasPrefix("/") else {
      throw StoreError(
        .notFound, "this user has no home folder", cure: "set HOME or XDG_CONFIG_HOME to an absolute path, or give a folder")
    }
    return FilePath(home).appending(".config")
  }

  private static func check(_ name: String) throws(StoreError) -> String {
    guard let refusal = refusal(of: name) else { return name }
    throw StoreError(
      .invalidName, refusal,
      cure: "use one path component of 1 to \(longestName) bytes without control characters, such as com.example.app")
  }

  private static func refusal(of name: String) -> String? {
    if name.isEmpty { return "an empty domain name" }
    if name == "." || name == ".." { return "the domain name '\(name)', which is a folder" }
    if name.utf8.count > longestName { return "a domain name of \(name.utf8.count) bytes" }
    if name.utf8.contains(UInt8(ascii: "/")) { return "a domain name with a slash" }
    let isControl = { (scalar: Unicode.Scalar) in scalar.properties.generalCategory == .control }
    return name.unicodeScalars.contains(where: isControl) ? "a domain name with a control character" : nil
  }
}
