internal import CofferPlatform
internal import SystemPackage

/// Questions about files that need no error.
enum FileFacts {
  /// Whether there is surely nothing: what cannot be looked at may be there.
  static func isAbsent(_ path: FilePath) -> Bool {
    path.withPlatformString { access($0, F_OK) } != 0 && [ENOENT, ENOTDIR].contains(errno)
  }
  static func exists(_ path: FilePath) -> Bool { path.withPlatformString { access($0, F_OK) } == 0 }
}
