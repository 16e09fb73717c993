internal import CofferPlatform
internal import SystemPackage

/// Questions about files that need no error.
enum FileFacts {
  static func exists(_ path: FilePath) -> Bool { path.withPlatformString { access($0, F_OK) } == 0 }
}
