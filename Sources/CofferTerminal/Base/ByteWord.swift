internal import CofferPlatform
internal import CofferStorage

/// A word of a command line, byte for byte: file names need not be UTF-8, and commands get their words unchanged.
package struct ByteWord: ExpressibleByStringLiteral, Sendable {
  private let bytes: [CChar]

  package init(_ start: UnsafePointer<CChar>) { bytes = Array(UnsafeBufferPointer(start: start, count: strlen(start) + 1)) }
  package init(_ text: String) { bytes = Array(text.utf8CString) }
  package init(stringLiteral text: String) { self.init(text) }

  /// For display: invalid UTF-8 is replaced.
  package var text: String { withBytes { String(decoding: $0, as: UTF8.self) } }
  package var isText: Bool { withBytes(UTF8Validity.isValid) }
  package var isEmpty: Bool { bytes.count == 1 }
  var isPath: Bool { bytes.contains(CChar(bitPattern: UInt8(ascii: "/"))) }

  /// The paths of a search path; an empty one means the current folder.
  var searchPath: [ByteWord] {
    bytes.dropLast().split(separator: CChar(bitPattern: UInt8(ascii: ":")), omittingEmptySubsequences: false)
      .map { ByteWord(bytes: $0.isEmpty ? [CChar(bitPattern: UInt8(ascii: "."))] : Array($0)) }
  }

  package func appending(_ name: ByteWord) -> ByteWord {
    ByteWord(bytes: bytes.dropLast() + [CChar(bitPattern: UInt8(ascii: "/"))] + name.bytes.dropLast())
  }

  package func joined(to other: ByteWord) -> ByteWord { ByteWord(bytes: bytes.dropLast() + other.bytes.dropLast()) }

  package func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
    // The terminator guarantees an address.
    bytes.withUnsafeBufferPointer { body($0.baseAddress.unsafelyUnwrapped) }
  }

  private init(bytes: [CChar]) { self.bytes = bytes + [0] }

  private func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0.dropLast())) }
  }
}

package enum CStrings {
  package static func lend<Result>(_ words: [ByteWord], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result) -> Result
  {
    let copies = words.map { $0.withCString { strdup($0) } } + [nil]
    defer { for copy in copies { free(copy) } }
    return copies.withUnsafeBufferPointer { buffer in
      // The terminator guarantees an address.
      withExtendedLifetime(copies) { body(buffer.baseAddress.unsafelyUnwrapped) }
    }
  }
}
