internal import CofferPlatform
internal import SystemPackage

package enum Executable {
  /// Looks `name` up like execvp(3) on the command's search path.
  ///
  /// - Throws: a failure of status 127 if nothing is found, 126 if it cannot be executed.
  package static func find(_ name: ByteWord, path: ByteWord?) throws(Failure) -> ByteWord {
    guard !name.isPath else {
      guard name.withCString({ access($0, F_OK) }) == 0 else { throw .commandNotFound(name.text) }
      return name
    }
    var isThere = false
    for folder in (path ?? "/usr/bin:/bin").searchPath where !name.isEmpty {
      let candidate = folder.appending(name)
      var facts = stat()
      guard candidate.withCString({ stat($0, &facts) }) == 0, facts.st_mode & S_IFMT != S_IFDIR else { continue }
      if candidate.withCString({ access($0, X_OK) }) == 0 { return candidate }
      isThere = true
    }
    throw isThere ? .cannotExecute(name.text, EACCES) : .commandNotFound(name.text)
  }

  package static func failure(_ name: ByteWord, _ code: Int32) -> Failure {
    code == ENOENT ? .commandNotFound(name.text) : .cannotExecute(name.text, code)
  }
}

extension Failure {
  package static func commandNotFound(_ name: String) -> Failure {
    Failure(.commandNotFound, kind: "commandNotFound", "there is no command '\(name)'", cure: "check its name and PATH")
  }

  static func cannotExecute(_ name: String, _ code: Int32) -> Failure {
    // execve(2): words and environment exceed the kernel's limit, or one of them exceeds 128 KiB.
    let isTooMuch = code == E2BIG
    return Failure(
      .cannotExecute, kind: "cannotExecute", "'\(name)' cannot be executed: \(String(cString: strerror(code)))",
      cure: isTooMuch
        ? "give a large value with --file or --fd, which have no such limit" : "check the file's mode and type")
  }
}

/// Programs for other programs to find on PATH.
package enum ProgramPath {
  package static func find(_ name: String) -> String? {
    do throws(Failure) { return try Executable.find(ByteWord(name), path: ProcessEnvironment.word("PATH")).text } catch {
      return nil
    }
  }

  /// Why `name` cannot be found; nil if it can.
  package static func lacks(_ name: String) -> String? { find(name) == nil ? "\(name) is not on PATH: run coffer install" : nil }
}
