package import SystemPackage

/// Gives a complete file its name without replacing what may have that name by now.
package enum NewName {
  /// - Returns: 0, or the `errno`: `EEXIST` when the name is taken.
  package static func give(_ draft: FilePath, _ target: FilePath) -> Int32 {
    let code = draft.withPlatformString { from in
      target.withPlatformString { coffer_rename_noreplace(from, $0) == 0 ? 0 : errno }
    }
    // Some file systems know no renaming without replacing: a second name does the same, and the first one goes.
    return code == EINVAL || code == ENOSYS ? link(draft, target) : code
  }

  private static func link(_ draft: FilePath, _ target: FilePath) -> Int32 {
    draft.withPlatformString { from in
      target.withPlatformString { to in
        guard linkFile(from, to) == 0 else { return errno }
        guard unlink(from) == 0 else {
          let code = errno
          unlink(to)
          return code
        }
        return 0
      }
    }
  }
}

// Inside the type the method would be meant.
private func linkFile(_ from: UnsafePointer<CChar>, _ to: UnsafePointer<CChar>) -> Int32 { link(from, to) }
