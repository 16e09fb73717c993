package import SystemPackage

extension StoreError {
  /// A failed system call: `doing` says what was attempted (`open`, `write the property list`), `errno` why it failed.
  package init(errno code: Int32, _ doing: String, place: FilePath) {
    let errno = Errno(rawValue: code)
    let (kind, cure): (Kind, String) =
      switch errno {
      case .noSpace, .diskQuotaExceeded: (.noSpace, "free some space on that file system and try again; nothing was changed")
      case .readOnlyFileSystem: (.readOnly, "use a place that can be written")
      case .permissionDenied, .notPermitted: (.denied, "check the owner and mode of the path, or choose another place")
      case .tooManySymbolicLinkLevels: (.denied, "replace the symbolic link by the real file")
      case .resourceTemporarilyUnavailable, .deadlock: (.busy, "another process holds it: try again")
      case .noMemory: (.memory, "see the system's message; nothing was changed")
      default: (.io(code), "see the system's message; nothing was changed")
      }
    self.init(kind, "could not \(doing)", place: place.string, cure: cure, underlying: errno)
  }
}
