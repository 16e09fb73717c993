internal import CofferPlatform

/// Byte for byte: `CommandLine.arguments` replaces invalid UTF-8 by U+FFFD, so that two words may look the same.
package enum CommandWords {
  /// The program's name comes first; empty if the system does not provide the words.
  package static var all: [ByteWord] {
    let given = Int(coffer_argument_count())
    if given > 0, let words = coffer_arguments() { return (0..<given).compactMap { index in words[index].map { ByteWord($0) } } }
    return (0..<Int(CommandLine.argc)).compactMap { index in CommandLine.unsafeArgv[index].map { ByteWord($0) } }
  }

  package static func last(_ count: Int) -> [ByteWord] { all.suffix(count) }
}
