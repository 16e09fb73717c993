internal import Coffer

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// The file that a command's name means.
enum Executable {
  /// Looks `name` up as execvp(3) does, on the path that the command will see.
  ///
  /// - Throws: a failure of status 127 when there is nothing, 126 when what there is cannot be executed.
  static func find(_ name: String, path: String?) throws(Failure) -> String {
    guard !name.contains("/") else {
      guard access(name, F_OK) == 0 else { throw .commandNotFound(name) }
      return name
    }
    var isThere = false
    for folder in (path ?? "/usr/bin:/bin").split(separator: ":", omittingEmptySubsequences: false) {
      let candidate = folder.isEmpty ? "./\(name)" : "\(folder)/\(name)"
      var facts = stat()
      guard stat(candidate, &facts) == 0, facts.st_mode & S_IFMT != S_IFDIR else { continue }
      if access(candidate, X_OK) == 0 { return candidate }
      isThere = true
    }
    throw isThere ? .cannotExecute(name, EACCES) : .commandNotFound(name)
  }

  /// What it means that `name` could not be executed.
  static func failure(_ name: String, _ code: Int32) -> Failure {
    code == ENOENT ? .commandNotFound(name) : .cannotExecute(name, code)
  }
}

extension Failure {
  static func commandNotFound(_ name: String) -> Failure {
    Failure(.commandNotFound, kind: "commandNotFound", "there is no command '\(name)'", cure: "check its name and PATH")
  }

  static func cannotExecute(_ name: String, _ code: Int32) -> Failure {
    Failure(
      .cannotExecute, kind: "cannotExecute", "'\(name)' cannot be executed: \(String(cString: strerror(code)))",
      cure: "check the file's mode and what it is")
  }
}
