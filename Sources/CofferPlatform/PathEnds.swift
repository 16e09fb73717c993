package import SystemPackage

/// A path's last name and the part before it, found in its bytes.
///
/// For each of these, swift-system parses all of the path's components: in a debug build a hundred times the work, and most
/// of the cost of opening a vault.
extension FilePath {
  /// The path without its last component: empty for a bare name, the root for the root.
  package var parent: FilePath {
    withPlatformString { start in
      guard let slash = strrchr(start, Self.separator) else { return FilePath() }
      let count = max(1, UnsafePointer(slash) - start)
      return FilePath(platformString: Array(UnsafeBufferPointer(start: start, count: count)) + [0])
    }
  }

  /// The parent, or `.` for a bare name.
  package var folder: FilePath {
    let parent = parent
    return parent.isEmpty ? "." : parent
  }

  /// The last component, with invalid UTF-8 replaced; nil for the root and the empty path.
  package var lastName: String? {
    let name = withPlatformString { start in
      String(cString: strrchr(start, Self.separator).map { UnsafePointer($0) + 1 } ?? start)
    }
    return name.isEmpty ? nil : name
  }

  package func appending(suffix: String) -> FilePath {
    withPlatformString { start in
      let name = UnsafeBufferPointer(start: start, count: strlen(start))
      return FilePath(platformString: Array(name) + suffix.utf8.map(CChar.init(bitPattern:)) + [0])
    }
  }

  private static let separator = Int32(UInt8(ascii: "/"))
}
