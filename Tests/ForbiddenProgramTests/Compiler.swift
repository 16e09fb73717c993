import Foundation
import Testing

/// The compiler that built this test, run over small programs.
enum Compiler {
  struct Verdict {
    let errors: [String]
  }

  struct Failure: Error, CustomStringConvertible { let description: String }

  /// Compiles each text as a separate file, all in one run that ends after `stage`.
  ///
  /// - Returns: the errors in each, in order.
  static func verdicts(on programs: [String], with stage: [String]) throws -> [Verdict] {
    let folder = FileManager.default.temporaryDirectory.appending(path: "coffer-programs-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { do { try FileManager.default.removeItem(at: folder) } catch { Issue.record(error) } }
    let files = try programs.enumerated().map { index, text in
      let file = folder.appending(path: "program\(index).swift")
      try text.write(to: file, atomically: true, encoding: .utf8)
      return file.path()
    }
    let output = try run(stage + arguments() + files)
    // An error outside the programs (a module not found) would make every forbidden one fail for the wrong reason.
    let strays = output.split(separator: "\n").filter { $0.contains("error: ") && !$0.hasPrefix(folder.path()) }
    guard strays.isEmpty else { throw Failure(description: strays.joined(separator: "\n")) }
    return files.map { file in
      Verdict(
        errors: output.split(separator: "\n").map(String.init).filter { $0.hasPrefix(file + ":") && $0.contains("error: ") })
    }
  }

  /// Builds a program of the one file `main.swift` in `folder`, which depends on the product `Coffer`.
  static func build(_ name: String, in folder: URL) throws -> URL {
    let build = try buildFolder(), program = folder.appending(path: name)
    // This program of the package has the same dependency. Relative names are the build's.
    let list = try String(contentsOf: build.appending(path: "CofferExample.product/Objects.LinkFileList"), encoding: .utf8)
    let objects = list.split(separator: "\n").map { $0.trimmingCharacters(in: ["'", "\""]) }
      .filter { !$0.contains("/CofferExample.build/") }
    let files = ["-o", program.path(), folder.appending(path: "main.swift").path()] + objects
    let output = try run(arguments().filter { $0 != "-parse-as-library" } + files + ["-lsodium", "-lsqlite3"])
    guard FileManager.default.isExecutableFile(atPath: program.path()) else { throw Failure(description: output) }
    return program
  }

  private static func arguments() throws -> [String] {
    let build = try buildFolder()
    let modules = build.appending(path: "Modules").path()
    var arguments = ["-swift-version", "6", "-wmo", "-parse-as-library", "-module-name", "Programs", "-I", modules]
    arguments += ["-no-color-diagnostics", "-diagnostic-style", "llvm"]
    for map in try moduleMaps(build).sorted() { arguments += ["-Xcc", "-fmodule-map-file=\(map)"] }
    return arguments
  }

  /// The folder with `Modules`: this test's own binary is in it, or in a bundle in it.
  private static func buildFolder() throws -> URL {
    var starts = [Bundle.main.executableURL, CommandLine.arguments.first.map { URL(filePath: $0) }].compactMap { $0 }
    starts += CommandLine.arguments.filter { $0.hasSuffix(".xctest") }.map { URL(filePath: $0) }
    for start in starts {
      var folder = start.deletingLastPathComponent()
      while folder.path() != "/" && folder.pathComponents.count > 1 {
        let module = folder.appending(path: "Modules/CofferStorage.swiftmodule")
        if FileManager.default.fileExists(atPath: module.path()) { return folder }
        folder.deleteLastPathComponent()
      }
    }
    throw Failure(description: "no Modules folder with CofferStorage.swiftmodule beside \(starts.map { $0.path() })")
  }

  /// Named by the build itself: its manifest is next to the triple's folder.
  private static func moduleMaps(_ build: URL) throws -> Set<String> {
    let name = build.lastPathComponent + ".yaml"
    let folders = [build.deletingLastPathComponent(), build.deletingLastPathComponent().deletingLastPathComponent()]
    let candidates = folders.map { $0.appending(path: name) }
    guard let manifest = candidates.first(where: { FileManager.default.fileExists(atPath: $0.path()) }) else {
      throw Failure(description: "no build manifest among \(candidates.map { $0.path() })")
    }
    let text = try String(contentsOf: manifest, encoding: .utf8)
    return Set(text.matches(of: /-fmodule-map-file=([^"]+)/).map { String($0.output.1) })
  }

  private static func run(_ arguments: [String]) throws -> String {
    let process = Process()
    process.executableURL = try executable("swiftc")
    process.arguments = arguments
    let pipe = Pipe()
    process.standardError = pipe
    process.standardOutput = pipe
    try process.run()
    let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return String(decoding: output, as: UTF8.self)
  }

  private static func executable(_ name: String) throws -> URL {
    for folder in (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":") {
      let file = URL(filePath: String(folder)).appending(path: name)
      if FileManager.default.isExecutableFile(atPath: file.path()) { return file }
    }
    throw Failure(description: "no \(name) in PATH")
  }
}
