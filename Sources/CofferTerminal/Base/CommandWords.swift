internal import CofferPlatform

/// The words of this process's command line, byte for byte. `CommandLine.arguments` replaces invalid UTF-8 by U+FFFD, so
/// that two words may look the same.
package enum CommandWords {
  /// All words, the program's name first; none if the system does not provide them.
  package static var all: [ByteWord] {
    let given = Int(coffer_argument_count())
    if given > 0, let words = coffer_arguments() { return (0..<given).compactMap { index in words[index].map { ByteWord($0) } } }
    return (0..<Int(CommandLine.argc)).compactMap { index in CommandLine.unsafeArgv[index].map { ByteWord($0) } }
  }

  package static func last(_ count: Int) -> [ByteWord] { all.suffix(count) }
}
