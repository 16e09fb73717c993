import Foundation
import Testing

extension PseudoTerminal {
  /// Starts another program with this as its only terminal; nil if it is not installed.
  func program(_ words: [String], in home: Home, with variables: [String: String] = [:]) throws -> Child? {
    let folders = words[0].hasPrefix("/") ? [""] : (home.environment["PATH"] ?? "").split(separator: ":").map { $0 + "/" }
    let files: [String] = folders.map { $0 + words[0] }
    guard let file = files.first(where: { access($0, X_OK) == 0 }) else { return nil }
    return try Child(
      Array(words.dropFirst()), environment: home.environment.merging(variables) { $1 },
      opening: [0: (path, O_RDWR), 1: (path, O_RDWR), 2: (path, O_RDWR)], program: file)
  }
}
